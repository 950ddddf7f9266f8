//! The suite files that come with the judge.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text, in the order in which they are listed.
        pub(super) const FILES: &[(&str, &str)] =
            &[$((concat!($name, ".toml"), include_str!(concat!("../../../../suites/", $name, ".toml")))),*];
    };
}

files!(
    "c",
    "cpp",
    "pascal",
    "rust",
    "python3",
    "bash",
    "java",
    "go",
    "javascript",
    "scripts"
);
