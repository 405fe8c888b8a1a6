//! Tasks with a known answer: honest models are believed, lying ones are not. `cargo xtask bench tasks` tries them all.

use testkit::{Verdict, tasks};

crate::tests![every_task_is_what_it_says, honest_models_are_believed_and_lying_ones_are_not];

/// Without Loop, each lie fools the checks, and only the truth tells it from an honest answer.
fn every_task_is_what_it_says() {
    let mut wrong = Vec::new();
    for task in tasks() {
        for answer in &task.answers {
            let found = task.try_bare(answer);
            wrong.extend(found.map(|why| format!("{}: {}: {why}", task.name, answer.name)));
        }
    }
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
