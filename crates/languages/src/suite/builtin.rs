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
    "ada",
    "awk",
    "basic",
    "brainfuck",
    "clang",
    "clangpp",
    "clojure",
    "cobol",
    "coffeescript",
    "crystal",
    "csharp",
    "d",
    "elixir",
    "erlang",
    "forth",
    "fortran",
    "gas",
    "go_test",
    "groovy",
    "haskell",
    "jest",
    "junit",
    "kotlin",
    "kotlin_script",
    "lisp",
    "lua",
    "luajit",
    "nasm",
    "nim",
    "objc",
    "ocaml",
    "octave",
    "perl",
    "php",
    "prolog",
    "pypy3",
    "r",
    "racket",
    "raku",
    "ruby",
    "scala",
    "scheme",
    "sed",
    "sml",
    "sql",
    "tcl",
    "typescript",
    "vala",
    "verilog",
    "scripts"
);
