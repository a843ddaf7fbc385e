//! Ids are compared by where they recur, not by what they are.

use std::collections::HashMap;

/// Which id of the left stands where which id of the right stands, one to one.
#[derive(Debug, Default)]
pub(super) struct Correspondence {
    to_right: HashMap<String, String>,
    to_left: HashMap<String, String>,
}

impl Correspondence {
    /// Whether `right` may stand where `left` stands; from now on, only it may.
    pub(super) fn agree(&mut self, left: &str, right: &str) -> bool {
        match (self.to_right.get(left), self.to_left.get(right)) {
            (Some(known_right), Some(known_left)) => known_right == right && known_left == left,
            (None, None) => {
                self.to_right.insert(left.to_owned(), right.to_owned());
                self.to_left.insert(right.to_owned(), left.to_owned());
                true
            }
            _ => false,
        }
    }
}
