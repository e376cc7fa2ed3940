//! Translates between libgit2's object ids and ours.

use git2::Oid;

use crate::model::ObjectId;

pub(crate) fn oid(id: ObjectId) -> Oid {
    Oid::from_bytes(&id.0).expect("an id has 20 bytes")
}

pub(crate) fn object_id(oid: Oid) -> ObjectId {
    let mut id = [0; 20];
    id.copy_from_slice(&oid.as_bytes()[..20]);
    ObjectId(id)
}
