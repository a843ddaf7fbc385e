//! What was meant by a pattern that selects nothing.

use super::ScenarioId;
use crate::scenario::nearest;

/// The pattern that was probably meant.
pub(crate) fn suggestion(written: &str, ids: &[ScenarioId]) -> Option<String> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let parts: Vec<(&str, &str)> = ids.iter().filter_map(|id| id.split_once('/')).collect();
    if parts.iter().any(|(theme, _)| *theme == written) {
        return Some(format!("{written}/*"));
    }
    let mut themes: Vec<String> = parts
        .iter()
        .map(|(theme, _)| format!("{theme}/*"))
        .collect();
    themes.dedup();
    if !written.contains('/') {
        return lone_word(written, &themes, &parts);
    }
    let candidates: Vec<&str> = themes.iter().chain(&ids).map(String::as_str).collect();
    nearest(written, &candidates).map(str::to_owned)
}

/// One word is the name of a scenario whose theme is missing, or a theme.
fn lone_word(written: &str, themes: &[String], parts: &[(&str, &str)]) -> Option<String> {
    let id_of = |wanted: &str| {
        let (theme, name) = parts.iter().find(|(_, name)| *name == wanted)?;
        Some(format!("{theme}/{name}"))
    };
    let near_theme = || {
        let names: Vec<&str> = themes
            .iter()
            .filter_map(|theme| theme.strip_suffix("/*"))
            .collect();
        nearest(written, &names).map(|theme| format!("{theme}/*"))
    };
    let near_name = || {
        let names: Vec<&str> = parts.iter().map(|(_, name)| *name).collect();
        id_of(nearest(written, &names)?)
    };
    id_of(written).or_else(near_theme).or_else(near_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(written: &str) -> Option<String> {
        let ids = [
            "approval/approved-write",
            "approval/rejected-write",
            "kill/sigkill-mid-write",
        ];
        let ids = ids.map(|id| id.parse().expect("an id"));
        suggestion(written, &ids)
    }

    #[test]
    fn what_was_meant_is_found() {
        for (written, meant) in [
            ("approval", "approval/*"),
            ("aproval", "approval/*"),
            ("approval/aproved-write", "approval/approved-write"),
            ("kil/*", "kill/*"),
            ("rejected-write", "approval/rejected-write"),
            ("sigkil-mid-write", "kill/sigkill-mid-write"),
        ] {
            assert_eq!(suggested(written).as_deref(), Some(meant), "{written}");
        }
    }

    #[test]
    fn what_is_like_nothing_gets_no_suggestion() {
        assert_eq!(suggested("zzz/qqqqqq"), None);
    }
}
