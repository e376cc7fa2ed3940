//! Packs: what is read from them, and what is copied from one to another.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use git2::{ObjectType, Repository};
use proptest::prelude::*;

use super::commit::oid;
use super::copies;
use super::objects::ObjectReader;
use super::pack::{ObjectKind, PackCopies, PackWriter, id_of, missing};
use super::packs::Packs;
use super::pool::RepositoryPool;
use super::testing::git;
use super::unpack::Unpacker;
use super::{Failpoints, init_bare, open_bare, repack};
use crate::model::{Blob, ObjectId, Tree, TreeEntry, Trees as _};

const LIMIT: usize = 1 << 20;

/// Texts that differ in few bytes, so that git stores them as deltas, and some that nothing can shrink.
fn contents() -> Vec<Vec<u8>> {
    let similar = (0..300).map(|number| {
        let lines = (0..60).map(|line| match line == number % 60 {
            true => format!("version {number}\n"),
            false => format!("line {line} of every document\n"),
        });
        lines.collect::<String>().into_bytes()
    });
    let mut random = fastrand::Rng::with_seed(1);
    let noise = (0..5).map(|size| std::iter::repeat_with(|| random.u8(..)).take(size * 20_000).collect());
    similar.chain(noise).collect()
}

/// A repository with one pack of `contents`, and their ids.
struct Packed {
    folder: tempfile::TempDir,
    objects: Vec<(ObjectId, Vec<u8>)>,
}

impl Packed {
    fn new(contents: Vec<Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = init_bare(folder.path()).unwrap();
        let objects: Vec<_> =
            contents.into_iter().map(|bytes| (id_of(ObjectKind::Blob, &bytes), bytes)).collect();
        let names: Vec<String> = (0..objects.len()).map(|number| format!("{number}.yaml")).collect();
        let entries = objects.iter().zip(&names);
        let entries = entries.map(|((id, _), name)| TreeEntry::file(name.as_bytes(), *id));
        let tree = Tree::of(entries);
        let odb = repository.odb().unwrap();
        for (id, bytes) in &objects {
            assert_eq!(odb.write(ObjectType::Blob, bytes).unwrap(), oid(*id));
        }
        let tree = odb.write(ObjectType::Tree, tree.bytes()).unwrap();
        let author = git2::Signature::new("Ann", "ann@example.com", &git2::Time::new(0, 0)).unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let commit = repository.commit(Some("refs/heads/main"), &author, &author, "All", &tree, &[]);
        commit.unwrap();
        git(folder.path(), &["repack", "-adq"]);
        git(folder.path(), &["prune-packed"]);
        Self { folder, objects }
    }

    fn packs(&self) -> PathBuf {
        self.folder.path().join("objects/pack")
    }

    fn unpacker(&self) -> Unpacker {
        Unpacker::new(Arc::new(Packs::open(&self.packs())))
    }

    /// Returns copies of the wanted objects, and the ids of those that cannot be copied.
    fn copies(&self, is_wanted: impl Fn(ObjectId) -> bool) -> (PackCopies, Vec<ObjectId>) {
        let mut ids: Vec<_> = self.objects.iter().map(|(id, _)| *id).collect();
        ids.retain(|id| is_wanted(*id));
        ids.sort();
        let copies = copies::take(&Packs::open(&self.packs()), &mut ids);
        (copies, ids)
    }

    /// Copies the wanted objects to a new repository, and returns it with the size of its pack.
    fn copied(&self, is_wanted: impl Fn(ObjectId) -> bool) -> (tempfile::TempDir, u64) {
        let (copies, rest) = self.copies(is_wanted);
        assert_eq!(rest, []);
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &copies);
        git(folder.path(), &["verify-pack", path.to_str().unwrap()]);
        git(folder.path(), &["index-pack", "--strict", path.to_str().unwrap()]);
        let size = path.metadata().unwrap().len();
        (folder, size)
    }

    /// Checks that the repository in `folder` has the wanted objects.
    fn check(&self, folder: &Path, is_wanted: impl Fn(ObjectId) -> bool) {
        let repository = Repository::open(folder).unwrap();
        for (id, bytes) in self.objects.iter().filter(|(id, _)| is_wanted(*id)) {
            assert_eq!(repository.find_blob(oid(*id)).unwrap().content(), bytes);
        }
    }
}

/// Writes copies to a new repository in `folder`, and returns the path of its pack.
fn written(folder: &Path, copies: &PackCopies) -> PathBuf {
    init_bare(folder).unwrap();
    let packs = folder.join("objects/pack");
    let failpoints = Failpoints::default();
    let mut pack = PackWriter::new(&packs, copies.count(), &failpoints).unwrap();
    pack.copy(copies).unwrap();
    let name = pack.finish().unwrap();
    packs.join(format!("pack-{name}.pack"))
}

#[test]
fn every_object_of_a_pack_is_read_as_it_is() {
    let packed = Packed::new(contents());
    let mut unpacker = packed.unpacker();
    for (id, bytes) in packed.objects.iter().chain(packed.objects.iter().rev()) {
        let (kind, found) = unpacker.read(*id, LIMIT).unwrap();
        assert_eq!((kind, &*found), (ObjectKind::Blob, bytes), "{id}");
    }
    assert_eq!(unpacker.read(ObjectId([1; 20]), LIMIT), None);
}

#[test]
fn a_reader_of_many_objects_finds_what_libgit2_finds() {
    let packed = Packed::new(contents());
    let repository = open_bare(packed.folder.path()).unwrap();
    let loose = repository.odb().unwrap().write(ObjectType::Blob, b"loose").unwrap();
    let loose = super::object_id(loose);
    let reader = ObjectReader::open(&Arc::new(RepositoryPool::new(packed.folder.path().into()))).unwrap();
    for (id, bytes) in &packed.objects {
        assert_eq!(reader.blob(*id, LIMIT).unwrap(), Blob::Content(bytes.clone()));
    }
    // By now, the packs are open.
    assert_eq!(reader.blob(loose, LIMIT).unwrap(), Blob::Content(b"loose".to_vec()));
    let (id, bytes) = &packed.objects[0];
    assert_eq!(reader.blob(*id, 10).unwrap(), Blob::TooLarge(bytes.len() as u64));
    let missing = reader.blob(ObjectId([1; 20]), LIMIT).unwrap_err();
    assert_eq!(missing.fault.to_string(), format!("the object {} is missing", ObjectId([1; 20])));
    let wrong = reader.tree(*id).unwrap_err();
    assert_eq!(wrong.fault.to_string(), format!("the object {id} is not a tree"));
}

#[test]
fn a_pack_that_was_written_after_the_others_were_opened_is_read() {
    let packed = Packed::new(contents());
    let pool = Arc::new(RepositoryPool::new(packed.folder.path().into()));
    let reader = ObjectReader::open(&pool).unwrap();
    assert_ne!(reader.place(packed.objects[0].0), None);
    let id = id_of(ObjectKind::Blob, b"new");
    let failpoints = Failpoints::default();
    let folder = packed.packs();
    let mut pack = PackWriter::new(&folder, 1, &failpoints).unwrap();
    pack.add(id, ObjectKind::Blob, b"new").unwrap();
    pack.finish().unwrap();
    assert_eq!(reader.blob(id, LIMIT).unwrap(), Blob::Content(b"new".to_vec()));
}

#[test]
fn an_object_over_the_limit_is_not_unpacked() {
    let packed = Packed::new(contents());
    let mut unpacker = packed.unpacker();
    let (id, bytes) = packed.objects.last().unwrap();
    assert_eq!(unpacker.read(*id, bytes.len() - 1), None);
    assert!(unpacker.read(*id, bytes.len()).is_some());
    // Now it is known, and still over the limit.
    assert_eq!(unpacker.read(*id, bytes.len() - 1), None);
}

#[test]
fn a_copied_pack_has_the_deltas_of_the_first_one() {
    let packed = Packed::new(contents());
    let (folder, size) = packed.copied(|_| true);
    packed.check(folder.path(), |_| true);
    let noise: usize = packed.objects[300..].iter().map(|(_, bytes)| bytes.len()).sum();
    let rest = size - noise as u64;
    assert!(rest < 300 * 60, "{rest} bytes for 300 similar documents");
}

#[test]
fn a_base_that_is_not_wanted_is_copied_with_its_documents() {
    let packed = Packed::new(contents().into_iter().take(300).collect());
    let is_wanted = |id: ObjectId| !id.0[19].is_multiple_of(8);
    let (copies, _) = packed.copies(is_wanted);
    let (folder, _) = packed.copied(is_wanted);
    packed.check(folder.path(), is_wanted);
    let wanted = packed.objects.iter().filter(|(id, _)| is_wanted(*id)).count();
    let others = copies.count() - wanted;
    assert!((1..40).contains(&others), "{others} of 300");
}

#[test]
fn bases_that_need_more_space_than_the_documents_are_not_copied() {
    let packed = Packed::new(contents().into_iter().take(300).collect());
    // The last object of the pack depends on the longest chain.
    let ids = packed.objects.iter().map(|(id, _)| *id);
    let unpacker = packed.unpacker();
    let last = ids.max_by_key(|id| unpacker.find(*id)).unwrap();
    // With so many wanted documents, the index is read.
    let mut wanted: Vec<_> = (0..100).map(|number| ObjectId([number; 20])).chain([last]).collect();
    wanted.sort();
    let before = wanted.clone();
    let copies = copies::take(&Packs::open(&packed.packs()), &mut wanted);
    assert_eq!(copies.count(), 0);
    assert_eq!(wanted, before, "the caller compresses it");
}

#[test]
fn the_index_of_a_large_pack_is_not_read_for_a_few_documents() {
    let packed = Packed::new(contents());
    let (first, _) = packed.objects[0];
    let (copies, rest) = packed.copies(|id| id == first);
    assert_eq!((copies.count(), rest), (0, vec![first]));
}

#[test]
fn an_object_that_no_pack_has_is_missing_once() {
    let packed = Packed::new(contents().into_iter().take(3).collect());
    let (known, _) = packed.objects[1];
    let repository = Repository::open(packed.folder.path()).unwrap();
    let loose = repository.odb().unwrap().write(ObjectType::Blob, b"loose").unwrap();
    let loose = super::object_id(loose);
    let new = ObjectId([0xff; 20]);
    assert_eq!(missing(&packed.packs(), [new, known, loose, new]), [loose, new]);
}

#[test]
fn an_object_in_several_packs_is_copied_once() {
    let packed = Packed::new(contents().into_iter().take(300).collect());
    // Each pack lacks other objects, so that the deltas of both have other bases.
    let ids = |rest: usize| {
        let ids = packed.objects.iter().enumerate();
        let ids = ids.filter(move |(number, _)| number % 3 != rest);
        ids.map(|(_, (id, _))| format!("{id}\n")).collect::<String>()
    };
    for rest in 0..2 {
        let list = packed.folder.path().join("list");
        std::fs::write(&list, ids(rest)).unwrap();
        let script = format!("git pack-objects -q --no-reuse-delta objects/pack/pack < {}", list.display());
        let mut shell = Command::new("sh");
        let done = shell.current_dir(packed.folder.path()).args(["-c", &script]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    // The pack of all objects goes, so that neither of the others has all.
    let mut files: Vec<_> =
        std::fs::read_dir(packed.packs()).unwrap().flatten().map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idx"));
    files.sort_by_key(|path| path.metadata().unwrap().len());
    std::fs::remove_file(files.last().unwrap()).unwrap();
    let is_wanted = |id: ObjectId| !id.0[19].is_multiple_of(4);
    let (folder, _) = packed.copied(is_wanted);
    packed.check(folder.path(), is_wanted);
}

#[test]
fn a_damaged_pack_is_never_read_past_its_end_and_never_fills_the_memory_or_another_pack() {
    let packed = Packed::new(contents().into_iter().take(40).collect());
    let files = std::fs::read_dir(packed.packs()).unwrap().flatten();
    let paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    for path in paths.iter().filter(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("idx" | "pack"))
    }) {
        let sound = std::fs::read(path).unwrap();
        let mut random = fastrand::Rng::with_seed(2);
        let replace = |bytes: &[u8]| {
            // Git makes packs read-only.
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let mut is_left = false;
        for round in 0..200 {
            let mut damaged = sound.clone();
            match round % 2 {
                0 => damaged.truncate(random.usize(..sound.len())),
                _ => damaged[random.usize(..sound.len())] ^= 1 << random.u8(..8),
            }
            replace(&damaged);
            let mut unpacker = packed.unpacker();
            for (id, _) in &packed.objects {
                let found = unpacker.read(*id, LIMIT);
                assert!(found.is_none_or(|(_, bytes)| bytes.len() <= LIMIT));
            }
            let (copies, rest) = packed.copies(|_| true);
            let folder = tempfile::tempdir().unwrap();
            written(folder.path(), &copies);
            packed.check(folder.path(), |id| rest.binary_search(&id).is_err());
            is_left |= !rest.is_empty();
        }
        assert!(is_left, "damage was found in {}", path.display());
        replace(&sound);
    }
}

#[test]
fn a_merge_of_packs_refuses_an_object_with_other_content_than_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let repository = init_bare(folder.path()).unwrap();
    let packs = folder.path().join("objects/pack");
    let failpoints = Failpoints::default();
    for number in 0..60_u8 {
        let mut pack = PackWriter::new(&packs, 1, &failpoints).unwrap();
        let id = match number {
            30 => ObjectId([30; 20]),
            _ => id_of(ObjectKind::Blob, &[number]),
        };
        pack.add(id, ObjectKind::Blob, &[number]).unwrap();
        pack.finish().unwrap();
    }
    let files = || std::fs::read_dir(&packs).unwrap().count();
    let before = files();
    let error = repack(&repository, &failpoints).unwrap_err();
    let text = format!("{error:?}");
    assert!(text.contains("is damaged"), "{text}");
    assert_eq!(files(), before, "every pack is still there");
}

proptest! {
    #[test]
    fn documents_are_written_and_read_back(
        contents in proptest::collection::hash_set(proptest::collection::vec(any::<u8>(), 0..300), 1..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let repository = init_bare(folder.path()).unwrap();
        let packs = folder.path().join("objects/pack");
        let failpoints = Failpoints::default();
        let mut pack = PackWriter::new(&packs, contents.len(), &failpoints).unwrap();
        for bytes in &contents {
            let id = id_of(ObjectKind::Blob, bytes);
            pack.add(id, ObjectKind::Blob, bytes).unwrap();
        }
        pack.finish().unwrap();
        let mut unpacker = Unpacker::new(Arc::new(Packs::open(&packs)));
        for bytes in &contents {
            let id = id_of(ObjectKind::Blob, bytes);
            let found = repository.find_blob(oid(id)).unwrap();
            prop_assert_eq!(found.content(), bytes.as_slice());
            prop_assert_eq!(&*unpacker.read(id, LIMIT).unwrap().1, bytes);
        }
    }
}
