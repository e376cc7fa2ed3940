//! The responses that all endpoints share.

use tokio::sync::watch;

use crate::admin::cache::StatusCache;
use crate::daemon::Status;

fn cache() -> (watch::Sender<Status>, StatusCache<u8, u32>) {
    let (sender, receiver) = watch::channel(Status::default());
    (sender, StatusCache::new(receiver, 2))
}

#[test]
fn a_value_is_made_once_per_status() {
    let (sender, cache) = cache();
    let value = |key, made| cache.get_or_make(key, |_| true, |_, _| made);
    assert_eq!(cache.get(&1, |_| true), None);
    assert_eq!((value(1, 10), value(1, 11), value(2, 20)), (10, 10, 20));
    assert_eq!(cache.get(&1, |_| true), Some(10));
    sender.send_modify(|status| status.next_pass = Some(1));
    assert_eq!(cache.get(&1, |_| true), None);
    assert_eq!(value(1, 12), 12);
}

#[test]
fn the_oldest_value_makes_room_and_an_unusable_one_is_replaced() {
    let (_sender, cache) = cache();
    for key in [1, 2, 3] {
        cache.get_or_make(key, |_| true, |_, key| u32::from(*key));
    }
    assert_eq!([1, 2, 3].map(|key| cache.get(&key, |_| true)), [None, Some(2), Some(3)]);
    assert_eq!(cache.get_or_make(2, |_| false, |_, _| 9), 9);
    assert_eq!([2, 3].map(|key| cache.get(&key, |_| true)), [Some(9), Some(3)]);
}

#[test]
fn a_value_that_was_made_from_an_older_status_is_not_kept() {
    let (sender, cache) = cache();
    let made = cache.get_or_make(
        1,
        |_| true,
        |_, _| {
            sender.send_modify(|status| status.next_pass = Some(1));
            assert_eq!(cache.get_or_make(1, |_| true, |_, _| 2), 2);
            1
        },
    );
    assert_eq!(made, 1);
    assert_eq!(cache.get(&1, |_| true), Some(2));
}
