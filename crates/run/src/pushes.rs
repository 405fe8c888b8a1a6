//! The Git gate of a run, plugged into the network gate: neither knows the other.

use egress::{Asked, Body, Boxed, Denial, Git};
use git_guard::{GitGate, Recognised, Why};
use policy::Connect;

/// The Git gate, as the network gate sees it.
pub(crate) struct Pushes(pub(crate) GitGate);

/// One push, as the network gate sees it.
struct Push(Box<git_guard::Push>);

impl egress::GitGate for Pushes {
    fn wants(&self, connect: &Connect) -> bool {
        self.0.wants(connect)
    }

    fn recognise(&self, asked: &Asked) -> Option<Git> {
        let head = git_guard::wire::target::Asked {
            method: asked.method.clone(),
            target: asked.target.clone(),
            content_type: asked.content_type.clone(),
            content_encoding: asked.content_encoding.clone(),
        };
        Some(match self.0.recognise(&asked.connect, head)? {
            Recognised::Fetch => Git::Fetch,
            Recognised::Push(push) => Git::Push(Box::new(Push(push))),
        })
    }
}

impl egress::Push for Push {
    fn judge<'a, 'b: 'a>(
        &'a mut self,
        body: Body<'b>,
    ) -> Boxed<'a, Result<Body<'b>, egress::Unsent>> {
        Box::pin(async move {
            self.0.judge(body).await.map_err(|unsent| match unsent {
                git_guard::Unsent::Refused(refused) => egress::Unsent::Refused(answer(refused)),
                git_guard::Unsent::Broken(error) => egress::Unsent::Broken(error),
            })
        })
    }

    fn refuse(&mut self, denial: &Denial) -> egress::Answer {
        let (word, status) = (denial.error(), denial.status());
        let Denial { rule, reason, next, .. } = denial.clone();
        answer(self.0.refuse(&Why { word, status, reason, rule, next }))
    }

    fn answers(&mut self, status: u16) {
        self.0.answers(status);
    }

    fn reads(&mut self, bytes: &[u8]) {
        self.0.reads(bytes);
    }

    fn done(&mut self, whole: bool) -> Boxed<'_, ()> {
        Box::pin(self.0.done(whole))
    }
}

fn answer(answer: git_guard::Answer) -> egress::Answer {
    let git_guard::Answer { status, content_type, body, reason } = answer;
    egress::Answer { status, content_type, body, reason }
}
