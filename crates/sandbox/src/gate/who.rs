//! Who started a process, as far as the sandbox's own names for it go.

use rustix::process::Pid;

use super::view::Status;

/// The most ancestors that are named.
const MOST: usize = 8;
/// As much of a command line as is named, in bytes.
const LONGEST: usize = 200;

/// The command lines of the thread's process and its ancestors up to init, nearest first. They are
/// what these processes call themselves: something to read, and nothing to decide by.
pub(in crate::gate) fn started_by(thread: Pid) -> Vec<String> {
    let mut chain: Vec<String> = Vec::new();
    let mut next = Some(thread);
    while let Some(process) = next.take().filter(|_| chain.len() < MOST) {
        let Ok(status) = Status::of(process) else { break };
        if status.is_of_init() {
            break;
        }
        let name = || status.value("Name").unwrap_or_default().to_owned();
        let command = command_line(process).unwrap_or_else(name);
        // Until it runs another program, a new process is called what its parent is.
        if chain.last() != Some(&command) {
            chain.push(command);
        }
        next = status.value("PPid").and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    }
    chain
}

fn command_line(process: Pid) -> Option<String> {
    let text = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_pid())).ok()?;
    let start: Vec<u8> = text.iter().copied().take(LONGEST).collect();
    let words = start.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let cut = if text.len() > LONGEST { " …" } else { "" };
    (!words.is_empty()).then(|| format!("{}{cut}", words.join(" ")))
}
