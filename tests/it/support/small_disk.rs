//! A disk that can be full.

use std::path::PathBuf;

use super::files;
use super::world::World;

/// A disk of one megabyte under the state folder; only root can have one.
pub(crate) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Puts it under the state folder, with what is in there; nothing where that cannot be had.
    pub(crate) fn over(world: &World) -> Option<Self> {
        let folder = world.state();
        let aside = world.path("aside");
        std::fs::rename(&folder, &aside).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs"])
            .arg(&folder)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let disk = mounted.then_some(Self { folder });
        files::copy(&aside, &world.state());
        disk
    }

    /// Leaves this many KiB free.
    pub(crate) fn fill_up_to(&self, free: u32) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.folder.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        let size = file.metadata().unwrap().len();
        file.set_len(size.saturating_sub(u64::from(free) * 1024)).unwrap();
    }

    /// Makes room again.
    pub(crate) fn make_room(&self) {
        std::fs::remove_file(self.folder.join("filler")).unwrap();
    }
}

impl SmallDisk {
    /// Takes the disk away, as a lost volume is.
    pub(crate) fn is_taken_away(&self) {
        drop(std::process::Command::new("umount").arg("-l").arg(&self.folder).status());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.is_taken_away();
    }
}
