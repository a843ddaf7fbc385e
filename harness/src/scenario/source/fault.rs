//! Standing faults as they are written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Located, Node, PointDocument};

/// A standing fault: a point, and exactly one effect on what is met there.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultDocument {
    /// Where. Without `nth`, each time.
    pub(crate) on: Located<PointDocument>,
    /// Change the arguments of a CLI when it is spawned.
    pub(crate) argv: Option<Located<ArgvDocument>>,
    /// Hold it until one of these is observed.
    pub(crate) hold_until: Option<Located<Vec<Located<PointDocument>>>>,
    /// A frame that never arrives. The only value is `true`.
    pub(crate) drop: Option<Located<bool>>,
    /// A frame that arrives this many times in all.
    pub(crate) duplicate: Option<Located<usize>>,
    /// Lines delivered before the frame: text as it is, anything else as JSON.
    pub(crate) inject: Option<Located<Vec<Node>>>,
    /// A frame delivered in two writes, cut after this many bytes.
    pub(crate) split: Option<Located<usize>>,
    /// A TCP reset in place of the rest of the response. The only value is `true`.
    pub(crate) reset: Option<Located<bool>>,
    /// A response that ends here, without its end. The only value is `true`.
    pub(crate) truncate: Option<Located<bool>>,
    /// Only in these variants.
    #[serde(rename = "in")]
    pub(crate) variants: Option<Located<Vec<Located<String>>>>,
}

/// A change of a CLI's arguments.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(crate) struct ArgvDocument {
    /// Flags to take out, with their values.
    pub(crate) drop: Vec<String>,
    /// Arguments to put at the end.
    pub(crate) add: Vec<String>,
}
