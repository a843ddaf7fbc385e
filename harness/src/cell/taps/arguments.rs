//! The arguments a CLI is started with.

/// SDKs ask the CLI for its version before they start it; that is no session.
pub(super) fn is_probe(arguments: &[String]) -> bool {
    matches!(arguments, [only] if only == "-v" || only == "--version")
}

/// Takes flags out, in both forms (`--flag value`, `--flag=value`), and puts arguments at the end.
pub(super) fn edit_arguments(
    arguments: Vec<String>,
    drop: &[String],
    add: Vec<String>,
) -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let name = argument
            .split_once('=')
            .map_or(argument.as_str(), |(name, _)| name);
        if !drop.iter().any(|flag| flag == name) {
            kept.push(argument);
        } else if !argument.contains('=') {
            let _value = arguments.next_if(|next| !next.starts_with('-'));
        }
    }
    kept.extend(add);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_taken_out_in_both_forms() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let arguments =
            words("--verbose --model x --resume=1 --await-initialize --input-format stream-json");
        let drop = words("--await-initialize --model --resume");
        assert_eq!(
            edit_arguments(arguments, &drop, words("--new")),
            words("--verbose --input-format stream-json --new")
        );
    }

    #[test]
    fn only_a_bare_version_question_is_a_probe() {
        assert!(is_probe(&["-v".to_owned()]));
        assert!(!is_probe(&["-v".to_owned(), "--verbose".to_owned()]));
    }
}
