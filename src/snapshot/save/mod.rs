//! Saves: snapshots as data for serde.

mod de;
mod error;
mod format;
mod load;
mod names;
mod prefabs;
mod saved;
mod ser;
mod values;
mod write;

pub use de::SavedPairsDeserializer;
pub use error::{LoadError, SaveError, SavedPlace};
pub use format::WorldSaveExt;
pub use load::LoadedPairs;
pub use saved::{SaveId, SavedEntity, SavedPair, SavedPairs, SavedRelation};
pub use ser::SavedPairsSerializer;
