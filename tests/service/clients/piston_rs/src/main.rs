//! Runs programs with the client piston_rs. The argument is the URL of the service.

use piston_rs::{Client, Executor, File};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("the URL of the service");
    let client = Client::with_url(&format!("{url}/api/v2/piston"));
    let runtimes = client.fetch_runtimes().await.expect("the runtimes");
    let python = runtimes
        .iter()
        .find(|runtime| runtime.language == "python")
        .expect("python");
    assert!(python.aliases.contains(&"py".to_owned()));

    let file = File::default()
        .set_name("main.py")
        .set_content("import sys; print(input(), sys.argv[1:])");
    let executor = Executor::new()
        .set_language("py")
        .set_version("*")
        .add_file(file)
        .set_stdin("in")
        .add_arg("arg");
    let response = client.execute(&executor).await.expect("an answer");
    assert_eq!((response.status, response.is_ok()), (200, true));
    assert_eq!(response.language, "python");
    assert_eq!(response.version, python.version);
    assert_eq!(response.run.output, "in ['arg']\n");
    assert!(response.compile.is_none());

    let file = File::default().set_content("int main() { return x; }");
    let executor = Executor::new()
        .set_language("c++")
        .set_version("*")
        .add_file(file);
    let response = client.execute(&executor).await.expect("an answer");
    assert!(response.compile.is_some_and(|stage| stage.is_err()));
    assert!(response.run.is_err());

    let executor = Executor::new().set_language("c++").set_version("1.0.0");
    let response = client.execute(&executor).await.expect("an answer");
    assert_eq!(response.status, 400);
}
