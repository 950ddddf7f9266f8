use super::*;

fn queue(running: usize, queued: usize) -> Queue {
    Queue::new(Bounds {
        cpu_time: running,
        real_time: running,
        memory_bytes: 100,
        queued,
        queued_bytes: 1000,
        held_bytes: 1000,
        is_divided: false,
    })
}

fn ticket(client: ClientId) -> Ticket {
    Ticket {
        client,
        lane: Lane::CpuTime,
        client_running: 0,
        client_queued: 0,
        flow: 0,
        memory_bytes: 10,
        size_bytes: 1,
        held_bytes: 0,
        patience: Duration::from_secs(10),
    }
}

async fn spawn_waiting(
    queue: &Queue,
    ticket: Ticket,
    name: &'static str,
    order: &Arc<Mutex<Vec<&'static str>>>,
) -> tokio::task::JoinHandle<()> {
    let (waiting, order) = (queue.load().queued, order.clone());
    let task = tokio::spawn({
        let queue = queue.clone();
        async move {
            let permit = queue.admit(ticket).await.unwrap();
            order.lock().unwrap().push(name);
            drop(permit);
        }
    });
    while queue.load().queued == waiting {
        tokio::task::yield_now().await;
    }
    task
}

#[tokio::test]
async fn clients_and_flows_take_turns() {
    let (queue, order) = (queue(1, 100), Arc::default());
    let first = queue.admit(ticket(1)).await.unwrap();
    let mut tasks = Vec::new();
    let batch = Ticket {
        flow: 7,
        ..ticket(1)
    };
    for (ticket, name) in [
        (ticket(1), "1a"),
        (ticket(1), "1b"),
        (batch, "1 batch"),
        (ticket(2), "2a"),
    ] {
        tasks.push(spawn_waiting(&queue, ticket, name, &order).await);
    }
    drop(first);
    for task in tasks {
        task.await.unwrap();
    }
    // The first client has had the latest turn, so the other client passes it.
    assert_eq!(*order.lock().unwrap(), ["2a", "1a", "1 batch", "1b"]);
    assert_eq!(queue.load().running, 0);
    assert_eq!(queue.load().memory_bytes, 0);
}

#[tokio::test]
async fn full_queue_refuses_with_retry_after() {
    let queue = queue(1, 1);
    let permit = queue.admit(ticket(1)).await.unwrap();
    let waiting = spawn_waiting(&queue, ticket(1), "a", &Arc::default()).await;
    let refused = queue.admit(ticket(1)).await.unwrap_err();
    assert!(
        matches!(refused, Refusal::QueueFull { queued: 1, .. }),
        "{refused:?}"
    );
    assert!(refused.retry_after() >= Some(MIN_RETRY_AFTER));
    drop(permit);
    waiting.await.unwrap();
}

#[tokio::test]
async fn patience_and_departure_free_the_place_in_the_queue() {
    let queue = queue(1, 10);
    let permit = queue.admit(ticket(1)).await.unwrap();
    let impatient = Ticket {
        patience: Duration::from_millis(5),
        ..ticket(1)
    };
    let refused = queue.admit(impatient).await.unwrap_err();
    assert!(matches!(refused, Refusal::TimedOut { .. }), "{refused:?}");
    let waiting = spawn_waiting(&queue, ticket(2), "gone", &Arc::default()).await;
    waiting.abort();
    assert!(waiting.await.is_err());
    drop(permit);
    let permit = queue.admit(ticket(1)).await.unwrap();
    drop(permit);
    assert_eq!(queue.load().running, 0);
    assert_eq!((queue.load().queued, queue.load().queued_bytes), (0, 0));
}

#[tokio::test]
async fn memory_is_a_budget_and_a_large_request_is_not_starved() {
    let (queue, order) = (queue(10, 10), Arc::default());
    let large = Ticket {
        memory_bytes: 95,
        ..ticket(1)
    };
    let permit = queue.admit(ticket(1)).await.unwrap();
    let first = spawn_waiting(&queue, large, "large", &order).await;
    let second = spawn_waiting(&queue, ticket(2), "small", &order).await;
    assert!(order.lock().unwrap().is_empty());
    drop(permit);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["large", "small"]);
    let too_large = Ticket {
        memory_bytes: 101,
        ..ticket(1)
    };
    let refused = queue.admit(too_large).await.unwrap_err();
    assert_eq!(
        refused,
        Refusal::TooMuchMemory {
            memory_bytes: 101,
            max_bytes: 100
        }
    );
}

#[tokio::test]
async fn share_of_a_client_holds_up_only_that_client() {
    let queue = queue(10, 10);
    let limited = Ticket {
        client_running: 1,
        client_queued: 1,
        ..ticket(1)
    };
    let permit = queue.admit(limited).await.unwrap();
    let waiting = spawn_waiting(&queue, limited, "a", &Arc::default()).await;
    let refused = queue.admit(limited).await.unwrap_err();
    assert!(matches!(refused, Refusal::ShareUsed { queued: 1, .. }));
    let other = tokio::time::timeout(Duration::from_secs(5), queue.admit(ticket(2)));
    drop(
        other
            .await
            .expect("the other client is not held up")
            .unwrap(),
    );
    drop(permit);
    waiting.await.unwrap();
}

#[tokio::test]
async fn draining_refuses_waiting_and_new_requests() {
    let queue = queue(1, 10);
    let permit = queue.admit(ticket(1)).await.unwrap();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.admit(ticket(1)).await.map(drop) }
    });
    while queue.load().queued == 0 {
        tokio::task::yield_now().await;
    }
    queue.drain();
    assert_eq!(waiting.await.unwrap(), Err(Refusal::Draining));
    assert_eq!(queue.admit(ticket(1)).await.unwrap_err(), Refusal::Draining);
    drop(permit);
}

#[tokio::test]
async fn full_lane_does_not_delay_the_other_one() {
    let queue = queue(1, 10);
    let real_time = Ticket {
        lane: Lane::RealTime,
        ..ticket(1)
    };
    let first = queue.admit(ticket(1)).await.unwrap();
    let waiting = spawn_waiting(&queue, ticket(1), "a", &Arc::default()).await;
    let other = tokio::time::timeout(Duration::from_secs(5), queue.admit(real_time));
    let other = other.await.expect("the other lane has room").unwrap();
    assert_eq!(queue.load().running_in, [1, 1]);
    let refused = queue.admit(Ticket {
        patience: Duration::from_millis(5),
        ..real_time
    });
    assert!(matches!(refused.await, Err(Refusal::TimedOut { .. })));
    drop((first, other));
    waiting.await.unwrap();
    assert_eq!(queue.load().running_in, [0, 0]);
}

#[tokio::test]
async fn large_request_is_not_starved_by_the_other_lane() {
    let (queue, order) = (queue(10, 10), Arc::default());
    let large = Ticket {
        lane: Lane::RealTime,
        memory_bytes: 95,
        ..ticket(1)
    };
    let permit = queue.admit(ticket(1)).await.unwrap();
    let first = spawn_waiting(&queue, large, "large", &order).await;
    let second = spawn_waiting(&queue, ticket(2), "small", &order).await;
    assert!(order.lock().unwrap().is_empty());
    drop(permit);
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["large", "small"]);
}

fn divided(running: usize) -> Queue {
    Queue::new(Bounds {
        is_divided: true,
        ..queue(running, 8).bounds().clone()
    })
}

#[tokio::test]
async fn held_memory_outlives_the_slot_and_delays_only_its_client() {
    let queue = divided(10);
    let holding = |client, held_bytes| Ticket {
        held_bytes,
        patience: Duration::from_millis(20),
        ..ticket(client)
    };
    let refused = queue.admit(holding(1, 1001)).await.unwrap_err();
    assert!(matches!(refused, Refusal::TooLarge { .. }) && refused.is_final());
    let held = queue.admit(holding(1, 400)).await.unwrap().into_held();
    assert_eq!((queue.load().running, queue.load().held_bytes), (0, 400));
    // A second request would exceed the half that one client may hold.
    let late = queue.admit(holding(1, 200)).await.unwrap_err();
    assert!(matches!(late, Refusal::TimedOut { .. }));
    let waiting = tokio::spawn({
        let queue = queue.clone();
        let patient = Ticket {
            patience: Duration::from_secs(60),
            ..holding(1, 200)
        };
        async move { queue.admit(patient).await.map(drop) }
    });
    let other = queue.admit(holding(2, 300)).await.unwrap();
    assert!(queue.hold(2, 100).is_none() && queue.hold(3, 100).is_some());
    drop((other, held));
    waiting.await.unwrap().unwrap();
    assert_eq!(queue.load().held_bytes, 0);
}

#[tokio::test]
async fn client_fills_only_its_share_of_the_queue() {
    let queue = divided(1);
    let permit = queue.admit(ticket(1)).await.unwrap();
    let order = Arc::default();
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(spawn_waiting(&queue, ticket(1), "greedy", &order).await);
    }
    let refused = queue.admit(ticket(1)).await.unwrap_err();
    assert!(matches!(refused, Refusal::ShareUsed { queued: 4, .. }));
    tasks.push(spawn_waiting(&queue, ticket(2), "modest", &order).await);
    drop(permit);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(order.lock().unwrap()[0], "modest");
}

#[tokio::test]
async fn request_gives_way_between_its_tests_and_continues() {
    let queue = queue(1, 10);
    let many = Ticket {
        held_bytes: 100,
        ..ticket(1)
    };
    let permit = queue.admit(many).await.unwrap();
    let permit = queue.give_way(permit, many).await.unwrap();
    let order = Arc::default();
    let own = spawn_waiting(&queue, ticket(1), "own", &order).await;
    let permit = queue.give_way(permit, many).await.unwrap();
    assert!(order.lock().unwrap().is_empty(), "its own client waits");
    let other = spawn_waiting(&queue, ticket(2), "other", &order).await;
    let permit = queue.give_way(permit, many).await.unwrap();
    assert_eq!(
        (&order.lock().unwrap()[..], queue.load().held_bytes),
        (&["other", "own"][..], 100)
    );
    for task in [own, other] {
        task.await.unwrap();
    }
    drop(permit);
    assert_eq!((queue.load().running, queue.load().held_bytes), (0, 0));
}

#[tokio::test]
async fn request_that_gave_way_continues_while_the_queue_drains() {
    let queue = queue(1, 10);
    let permit = queue.admit(ticket(1)).await.unwrap();
    let other = tokio::spawn({
        let queue = queue.clone();
        async move { queue.admit(ticket(2)).await }
    });
    while queue.load().queued == 0 {
        tokio::task::yield_now().await;
    }
    let resumed = tokio::spawn({
        let queue = queue.clone();
        async move { queue.give_way(permit, ticket(1)).await.map(drop) }
    });
    let other = other.await.unwrap().unwrap();
    queue.drain();
    drop(other);
    resumed.await.unwrap().unwrap();
}
