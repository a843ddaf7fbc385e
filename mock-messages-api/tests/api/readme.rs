//! The examples of the documents work.

use std::{fs, path::Path};

use mock_messages_api::Script;

#[path = "../../examples/in_process.rs"]
mod in_process;

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The fenced blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.strip_prefix(&format!("{language}\n")))
        .collect()
}

#[test]
fn every_script_of_the_documents_is_one() {
    for name in ["README.md", "docs/script.md"] {
        let text = document(name);
        let scripts = blocks(&text, "yaml");
        assert!(!scripts.is_empty(), "{name} shows scripts");
        for script in scripts {
            let read = Script::from_yaml(script)
                .unwrap_or_else(|error| panic!("{name}: {error}\n{script}"));
            assert_eq!(read.problems(), [], "{name}\n{script}");
        }
    }
}

#[test]
fn the_rust_example_is_the_one_of_the_examples_and_works() {
    let text = document("README.md");
    assert_eq!(
        blocks(&text, "rust"),
        [document("examples/in_process.rs").as_str()]
    );
    in_process::main().unwrap();
}
