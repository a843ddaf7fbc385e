//! What a person reads when a scenario is wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use harness::scenario::{Requirements, parse};
use proptest::prelude::*;

fn broken(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/broken")
        .join(name)
}

fn requirements() -> Requirements {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/requirements.yaml");
    Requirements::load(&path).expect("the requirements")
}

fn rendered(name: &str) -> String {
    let text = fs::read_to_string(broken(&format!("{name}.yaml"))).expect("the file");
    let error = parse(
        "theme/name",
        &format!("scenarios/theme/{name}.yaml"),
        &text,
        &requirements(),
    )
    .expect_err("a mistake is found");
    error.render(false)
}

macro_rules! mistakes {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), rendered(stringify!($name)));
            }
        )*

        #[test]
        fn every_broken_file_has_a_test() {
            let tested = BTreeSet::from([$(format!("{}.yaml", stringify!($name))),*]);
            let there: BTreeSet<String> = fs::read_dir(broken(""))
                .expect("the directory")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            assert_eq!(tested, there);
        }
    };
}

mistakes! {
    argument_without_type
    at_without_do
    await_under_do
    broken_yaml
    do_without_at
    empty_file
    empty_model
    empty_steps
    fault_on_the_wrong_thing
    fault_without_effect
    interrupt_beside_a_point
    key_twice
    misplaced_accepted
    misplaced_type
    missing_key
    missing_phase
    mistake_in_the_model
    nth_zero
    point_that_cannot_be_held
    session_before_its_start
    session_started_twice
    several_mistakes
    step_with_two_verbs
    step_without_a_verb
    tool_without_behaviour
    undefined_tool_in_expect
    undefined_tool_in_model
    undefined_tool_in_result
    undefined_tool_in_step
    unknown_argument
    unknown_capability
    unknown_key
    unknown_phase
    unknown_requirement
    unknown_status
    unknown_step_key
    unknown_step_type
    unknown_variant
    wrong_type
}

const SCENARIO: &str = include_str!("../../scenarios/resume/resumed-hook-skip.yaml");

#[test]
fn a_mistake_in_an_endless_line_is_told_in_words() {
    let text = format!(
        "title: A long answer\nmodel:\n  - reply: [{{text: {}, splt: 1}}]\nsteps: [{{start: hello}}]\n",
        "word ".repeat(20_000)
    );
    let rendered = parse(
        "theme/name",
        "scenarios/theme/name.yaml",
        &text,
        &requirements(),
    )
    .expect_err("a mistake is found")
    .render(false);
    assert!(
        rendered.starts_with("scenarios/theme/name.yaml:3:") && rendered.contains("`splt`"),
        "{rendered}"
    );
    assert!(rendered.len() < 2_000, "{} bytes", rendered.len());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|\n|  |- |: )*") {
        let _ = parse("theme/name", "file.yaml", &text, &Requirements::default()).map_err(|error| error.render(false));
    }

    #[test]
    fn a_damaged_scenario_is_read_or_refused(
        start in 0..SCENARIO.len(),
        length in 0..40usize,
        replacement in "[-a-z0-9{}\\[\\]:,\"'&*!|># \n]{0,12}",
    ) {
        let boundary = |place: usize| (place..).find(|place| SCENARIO.is_char_boundary(*place)).unwrap_or(SCENARIO.len());
        let (start, end) = (boundary(start), boundary((start + length).min(SCENARIO.len())));
        let text = format!("{}{replacement}{}", &SCENARIO[..start], &SCENARIO[end..]);
        if let Err(error) = parse("theme/name", "file.yaml", &text, &requirements()) {
            prop_assert!(error.count() > 0);
            prop_assert!(!error.render(false).is_empty());
            prop_assert!(error.to_string().starts_with("file.yaml:"));
        }
    }
}
