//! Loop's own agent through a long session: is a late turn as cheap as an early one?

use std::process::Stdio;
use std::time::{Duration, Instant};

use testkit::{ModelServer, Recorded, World};

use crate::client::wait;
use crate::{median, memory};

/// How often memory is looked at: seldom, since that takes time.
const PAUSE: Duration = Duration::from_millis(50);

/// What was measured of one session: of its first quarter and of its last.
struct Quarters {
    cost_ms: [f64; 2],
    memory_mb: [f64; 2],
}

/// Measures so many sessions of so many steps, and prints their figures.
pub(crate) fn measure(sessions: usize, steps: usize) {
    let measured: Vec<_> = (0..sessions).map(|_| session(steps)).collect();
    let of = |figure: &dyn Fn(&Quarters) -> f64| median(measured.iter().map(figure).collect());
    let [early, late] = [0, 1].map(|at| of(&|it| it.cost_ms[at]));
    println!(
        "session-cost {late:.2} median of the last {} of {steps} turns, a line of shell each",
        steps / 4
    );
    println!(
        "session-flat {:.2} {late:.2} ms / {early:.2} ms, last and first quarter",
        late / early
    );
    let [early, late] = [0, 1].map(|at| of(&|it| it.memory_mb[at]));
    println!(
        "session-memory {:.2} {late:.1} MB / {early:.1} MB, last and first quarter",
        late / early
    );
}

fn session(steps: usize) -> Quarters {
    let world = World::new();
    let project = world.repository("project");
    let server = ModelServer::start(&script(steps));
    let model = format!("openai-compatible:{}/v1#scripted", server.url());
    let most = (steps + 1).to_string();
    let words = ["run", "--model", &model, "--steps", &most, "--", "go on"];
    let mut command = world.run_loop(project.path(), &words).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("loop starts");
    let process = memory::id(&child);
    let mut seen: Vec<(Instant, f64)> = Vec::new();
    let status = wait(&mut child, || {
        if seen.last().is_none_or(|(at, _)| at.elapsed() > PAUSE) {
            seen.push((Instant::now(), memory::now(process)));
        }
    });
    assert!(status.is_some_and(|status| status.success()), "the session failed");
    server.verdict().expect("every request is in order");
    let asked = server.asked();
    assert_eq!(asked.len(), steps + 1, "every turn is asked for");
    let quarter = steps / 4;
    let (early, late) = (&asked[..=quarter], &asked[steps - quarter..]);
    Quarters {
        cost_ms: [own_cost(early), own_cost(late)],
        memory_mb: [held(&seen, early), held(&seen, late)],
    }
}

/// What a turn takes apart from the model: from its answer to the next request, in milliseconds.
fn own_cost(asked: &[Recorded]) -> f64 {
    let turns = asked.windows(2).filter_map(|pair| {
        let answered = pair[0].answered?;
        Some(pair[1].at.saturating_duration_since(answered))
    });
    median(turns.map(|took| took.as_secs_f64() * 1e3).collect())
}

/// What was held while these were asked.
fn held(seen: &[(Instant, f64)], asked: &[Recorded]) -> f64 {
    let during = asked[0].at..=asked[asked.len() - 1].at;
    median(seen.iter().filter(|(at, _)| during.contains(at)).map(|(_, held)| *held).collect())
}

/// Something new each time: what repeats itself is stopped.
fn script(steps: usize) -> String {
    let turn = |step| {
        format!(
            "[[turn]]\ntext = \"Step {step}.\"\n\
             call = [{{ name = \"bash\", arguments = {{ command = \"echo {step}\" }} }}]\n"
        )
    };
    let turns: String = (1..=steps).map(turn).collect();
    format!("name = \"scripted\"\n{turns}[[turn]]\ntext = \"Done.\"\n")
}
