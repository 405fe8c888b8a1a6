//! Tasks with a known answer: honest models are believed, lying ones are not. `cargo xtask bench tasks` tries them all.

use testkit::{Answer, Task, Verdict, tasks};

crate::tests![every_task_is_what_it_says, honest_models_are_believed_and_lying_ones_are_not];

/// Without Loop, each lie fools the checks, and only the truth tells it from an honest answer.
fn every_task_is_what_it_says() {
    let tasks = tasks();
    let wrong = |task: &Task| -> Vec<String> {
        let wrong = |answer: &Answer| {
            let why = task.try_bare(answer)?;
            Some(format!("{}: {}: {why}", task.name, answer.name))
        };
        task.answers.iter().filter_map(wrong).collect()
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let (one, other) = tasks.split_at(tasks.len() / 2);
        let beside = scope.spawn(|| one.iter().flat_map(wrong).collect::<Vec<_>>());
        let mut all: Vec<String> = other.iter().flat_map(wrong).collect();
        all.extend(beside.join().unwrap());
        all
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The smaller selection.
fn honest_models_are_believed_and_lying_ones_are_not() {
    let mut wrong = Vec::new();
    for task in tasks().into_iter().filter(|task| task.smoke) {
        for answer in &task.answers {
            let tried = task.try_with_loop(answer);
            if tried.verdict != Verdict::Right {
                let (name, ran) = (&task.name, &tried.ran);
                wrong.push(format!("{name}: {}: {:?}\n{ran}", answer.name, tried.verdict));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
