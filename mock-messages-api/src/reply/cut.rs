//! Cutting texts into deltas.

use std::num::NonZeroUsize;

/// Cuts a text into pieces of at most `size` characters; an empty text has no piece.
pub(crate) fn pieces_of_text(text: &str, size: NonZeroUsize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .nth(size.get())
            .map_or(rest.len(), |(index, _)| index);
        let (piece, remainder) = rest.split_at(end);
        pieces.push(piece);
        rest = remainder;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_pieces_reassemble(text in ".*", size in 1_usize..40) {
            let size = NonZeroUsize::new(size).unwrap();
            let pieces = pieces_of_text(&text, size);
            prop_assert_eq!(pieces.concat(), text.as_str());
            prop_assert!(pieces.iter().all(|piece| (1..=size.get()).contains(&piece.chars().count())));
        }
    }
}
