//! What the documents say is so: their commands run, their tables are the types'.

mod fixture;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use fixture::{Ended, project};
use harness::catalogue::Catalogue;
use harness::matrix::{CellName, CellResult, CommittedMatrix, Outcome, Summary};
use harness::protocol::{METHODS, Sender, protocol_schema};
use harness::report::to_terminal;
use harness::scenario::parse;
use regex::Regex;

const HARNESS: &str = "cargo run -p harness -- ";

fn documents() -> Vec<PathBuf> {
    let books = fs::read_dir(project().join("harness/docs")).expect("the books");
    let mut books: Vec<PathBuf> = books.map(|entry| entry.expect("an entry").path()).collect();
    books.sort();
    std::iter::once(project().join("README.md"))
        .chain(books)
        .collect()
}

/// The lines of the document's blocks in this language.
fn blocks(path: &PathBuf, language: &str) -> Vec<String> {
    let text = fs::read_to_string(path).expect("the document");
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// Runs one command of a document as it stands there, without building, and on one scenario when it names none.
fn perform(command: &str) {
    if command == "./ci/test" {
        let script = fs::read_to_string(project().join("ci/test")).expect("the test command");
        assert!(script.contains("cargo nextest run --workspace"));
        return;
    }
    let arguments = command
        .strip_prefix(HARNESS)
        .unwrap_or_else(|| panic!("`{command}` is of no known form"));
    let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
    if arguments[0] == "run" {
        if !arguments
            .iter()
            .any(|argument| argument.contains('/') && !argument.ends_with(".yaml"))
        {
            arguments.push("approval/approved-write");
        }
        arguments.extend(["--no-build", "--timeout-scale", "3"]);
    }
    if arguments[0] == "drift" {
        // The corpus on two CLIs is a test of its own.
        arguments = vec!["drift", "--help"];
    }
    let output = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(&arguments)
        .current_dir(project())
        .stdin(Stdio::null())
        .output()
        .expect("the harness starts");
    let ended: Ended = output.into();
    assert_eq!(ended.code, Some(0), "`{command}`: {ended:?}");
}

#[test]
fn every_command_works() {
    let mut performed = 0;
    for document in documents() {
        for block in blocks(&document, "sh") {
            for command in block
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
            {
                perform(command);
                performed += 1;
            }
        }
    }
    assert!(performed >= 8, "{performed} commands");
}

#[test]
fn the_scenario_in_the_readme_is_one() {
    let catalogue = Catalogue::open(&project().join("scenarios")).expect("the catalogue");
    let blocks = blocks(&project().join("README.md"), "yaml");
    assert_eq!(blocks.len(), 1);
    parse(
        "readme/scenario",
        "README.md",
        &blocks[0],
        catalogue.requirements(),
    )
    .unwrap_or_else(|error| panic!("{}", error.render(false)));
}

/// The matrix in the README has the cells of the committed matrix; only the times may differ.
#[test]
fn the_matrix_in_the_readme_is_the_committed_one() {
    let catalogue = Catalogue::open(&project().join("scenarios")).expect("the catalogue");
    let matrix = CommittedMatrix::load(&project().join("ci/matrix.yaml")).expect("the matrix");
    let mut results = Vec::new();
    for pair in &matrix.pairs {
        for selector in pair.cells(&catalogue).expect("cells") {
            results.push(CellResult {
                name: CellName {
                    runner: pair.runner.clone(),
                    cli: pair.cli.clone(),
                    selector,
                },
                outcome: Outcome::Passed,
                duration: Duration::from_millis(1000),
                checks: Vec::new(),
                last_events: Vec::new(),
                evidence: None,
                repro: String::new(),
            });
        }
    }
    let table = to_terminal(Summary::default(), &results, false);
    let table = table.split("\n\n").next().unwrap_or_default();
    let times = Regex::new(r"\d+\.\d s").expect("a pattern");
    let widths = Regex::new(r" {2,}|─{2,}|═{2,}").expect("a pattern");
    let bare = |table: &str| {
        let table = times.replace_all(table, "T");
        widths.replace_all(&table, " ").into_owned()
    };
    let shown = blocks(&project().join("README.md"), "text").remove(0);
    assert_eq!(bare(shown.trim_end()), bare(table));
}

#[test]
fn the_tables_of_the_protocol_are_those_of_the_types() {
    let path = project().join("harness/docs/connecting-an-adapter.md");
    let text = fs::read_to_string(&path).expect("the document");
    let written = section(
        &section(&text, "methods", &methods()),
        "capabilities",
        &capabilities(),
    );
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &written).expect("the document can be written");
    } else {
        assert!(
            text == written,
            "{} is not what the types say; write it anew with `UPDATE_SCHEMAS=1 cargo nextest run -p harness --test documents`",
            path.display()
        );
    }
}

fn section(text: &str, name: &str, content: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}: written by a test -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = text.split_once(&begin).expect("the section begins");
    let (_, after) = rest.split_once(&end).expect("the section ends");
    format!("{before}{begin}\n{content}\n{end}{after}")
}

fn methods() -> String {
    let mut rows = vec![
        "| method | from | parameters | result | purpose |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    rows.extend(METHODS.iter().map(|method| {
        let sender = if method.sender == Sender::Harness {
            "harness"
        } else {
            "runner"
        };
        let named = |name: Option<&str>| name.map_or("`{}`".to_owned(), |name| format!("`{name}`"));
        let result = method.result.map_or("–".to_owned(), named);
        format!(
            "| `{}` | {sender} | {} | {result} | {} |",
            method.name,
            named(method.params),
            method.purpose
        )
    }));
    rows.join("\n") + "\n"
}

fn capabilities() -> String {
    let schema = protocol_schema();
    let values = schema["$defs"]["Capability"]["oneOf"]
        .as_array()
        .expect("capabilities");
    let rows = values.iter().map(|value| {
        let text = |key: &str| value[key].as_str().expect("a text");
        format!("| `{}` | {} |", text("const"), text("description"))
    });
    let head = [
        "| capability | what it means |".to_owned(),
        "|---|---|".to_owned(),
    ];
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n") + "\n"
}
