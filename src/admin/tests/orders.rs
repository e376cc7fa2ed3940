//! Commands of operators.

use super::*;

#[tokio::test]
async fn orders_need_the_admin_token() {
    let server = AdminServer::new().await;
    let without = AdminServer::with(|admin| admin.admin_token = None).await;
    for path in ["/allow", "/reconcile", "/suspend", "/resume"] {
        for headers in [
            &[][..],
            &[("Authorization", "")],
            &[("Authorization", "admin-token")],
            &[("Authorization", "Bearer ")],
            &[("Authorization", "Bearer admin-toke")],
            &[("Authorization", "Bearer admin-tokens")],
            &[("Authorization", "Basic YWRtaW4tdG9rZW4=")],
            &[("Cookie", "token=admin-token")],
        ] {
            let answer = server.post(path, headers, "").await;
            assert_eq!(answer.status(), 401, "{path} {headers:?}");
            assert!(answer.has("www-authenticate: Bearer"), "{}", answer.0);
        }
        assert_eq!(without.order(path, "").await.status(), 403, "{path}");
    }
    assert!(!server.was_fired().await && server.commands.is_empty());
}

#[tokio::test]
async fn the_admin_token_can_be_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let server = AdminServer::with(|admin| admin.admin_token = Some(SecretSource::File(path.clone()))).await;
    assert_eq!(server.order("/reconcile", "").await.status(), 503);
    std::fs::write(&path, "another\n").unwrap();
    assert_eq!(server.order("/reconcile", "").await.status(), 401);
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    assert_eq!(server.order("/reconcile", "").await.status(), 202);
}

#[tokio::test]
async fn reconcile_fires_the_trigger_and_retries_what_is_parked() {
    let mut server = AdminServer::new().await;
    assert_eq!(server.order("/reconcile", "").await.status(), 202);
    assert!(server.was_fired().await);
    assert!(matches!(server.commands.try_recv(), Ok(DriverCommand::RetryParked)));
}

#[tokio::test]
async fn suspend_and_resume_respond_once_the_driver_has_recorded_them() {
    let mut server = AdminServer::new().await;
    let mut commands = std::mem::replace(&mut server.commands, mpsc::channel(1).1);
    let driver = tokio::spawn(async move {
        let Some(DriverCommand::Suspend(_, suspension, reply)) = commands.recv().await else {
            panic!("no suspension");
        };
        reply.send(Ok(())).unwrap();
        let Some(DriverCommand::Resume(_, reply)) = commands.recv().await else {
            panic!("no resumption");
        };
        reply.send(Err("the disk is full".to_owned())).unwrap();
        suspension
    });
    for (body, status) in [(r#"{"for":"soon"}"#, 400), (r#"{"untl":"2h"}"#, 400), ("nonsense", 400)] {
        let answer = server.order("/suspend", body).await;
        assert_eq!(answer.status(), status, "{body}");
        assert!(answer.body().starts_with(r#"{"error":""#), "{}", answer.body());
    }
    let before = now();
    assert_eq!(server.order("/suspend", r#"{"reason":"freeze","for":"2h"}"#).await.status(), 200);
    let answer = server.order("/resume", "").await;
    assert_eq!((answer.status(), answer.body()), (500, "{\"error\":\"the disk is full\"}\n"));
    let Suspension { reason, until } = driver.await.unwrap();
    assert_eq!(reason.as_deref(), Some("freeze"));
    assert!((before + 7200..before + 7260).contains(&until.unwrap()));
    assert_eq!(server.order("/resume", "").await.status(), 503, "the driver has ended");
}
