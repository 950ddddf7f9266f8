//! The suite files of this crate.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each file, in the order in which languages are listed.
        pub(super) const FILES: &[(&str, &str)] = &[$((
            concat!($name, ".toml"),
            include_str!(concat!("../../../../suites/", $name, ".toml"))
        )),*];
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
