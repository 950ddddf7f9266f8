//! Runs a program a few times and prints what came of it.
use millibox::{Request, Supervisor, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let supervisor = Supervisor::builder().slots(1).start()?;
    println!("{supervisor:?} declined {:?}", supervisor.declined());
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().unwrap_or("/bin/true".into());
    let request =
        Request::new(program).args(arguments).world(&World::minimal()).memory_limit(64 << 20).process_limit(8);
    let stdout = std::sync::Arc::new(rustix::io::fcntl_dupfd_cloexec(std::io::stdout(), 3)?);
    for _ in 0..5 {
        let result = supervisor.run(&request.clone().stdout(stdout.clone()).stderr(stdout.clone()))?.wait()?;
        println!("{result}: {:?}", result.figures);
    }
    Ok(())
}
