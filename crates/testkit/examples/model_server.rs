//! Plays a script as a provider of models, for tries by hand:
//! `cargo run -p testkit --example model_server -- SCRIPT`. It says where it listens, tells of each
//! request, and at the end of its input whether all were in order.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "an example talks to a person")]

use std::io::Read as _;

use testkit::ModelServer;

fn main() {
    let script = std::env::args().nth(1).expect("the file of a script");
    let script = std::fs::read_to_string(script).expect("the script can be read");
    let server = ModelServer::start(&script);
    println!("{}", server.url());
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).expect("standard input can be read");
    for asked in server.requests() {
        println!("{} {} {} bytes", asked.method, asked.path, asked.bytes);
    }
    match server.verdict() {
        Ok(()) => println!("all in order"),
        Err(wrong) => println!("{wrong}"),
    }
}
