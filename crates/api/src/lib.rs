//! Requests, reports and problems that cross between Loop and its clients.
//!
//! Everything here is data that serialises to JSON, and two traits: [`Engine`], whose methods are the
//! commands, and [`Person`], to whom an engine speaks while a command runs. There is no behaviour: what a value means is decided by who implements the trait, and how
//! it reads is decided by the client that prints it. Clients know this crate and nothing below it.
//!
//! Two conventions hold for every type. A path or an argument is carried exactly, also where it isn't
//! UTF-8 (see [`text`]). Text that came out of a sandbox, a repository or a file is carried as it is:
//! the client makes it harmless when it shows it.

mod agent;
mod approval;
mod change;
mod contract;
mod engine;
pub mod event;
mod exec;
mod git;
mod inspect;
mod lease;
mod machine;
mod problem;
mod profile;
mod proposal;
pub mod text;
mod verification;

pub use agent::{
    Begin, BudgetRequest, LoginRequest, LoginView, ModelView, SessionView, SessionsRequest,
    TaskReport, TaskRequest,
};
pub use approval::{
    AnswerReport, AnswerRequest, AnsweredAsk, ApprovalsRequest, AskCap, AskView, AskedCommand,
    Choice, Nobody, Person,
};
pub use change::{
    ApplyReport, ApplyRequest, ChangeCounts, ChangeFlag, ChangeKind, ChangeView, DiffReport,
    DiffRequest, DiscardReport, FileDiff, HeldChange, LineStat, UndoReport,
};
pub use contract::{
    ContractCheckRequest, ContractDraft, ContractProposeRequest, ContractReport, DraftedCheck,
};
pub use engine::Engine;
pub use exec::{
    Agent, Denial, EnforcedLimit, Enforcement, ExecReport, ExecRequest, IgnoredKey, LimitHit, Mode,
    Outcome, Publication, SelfTest, StopReport, StopRequest,
};
pub use git::{
    BranchReport, BranchRequest, CommitView, FileStat, FlaggedPath, GitReport, GitRequest,
};
pub use inspect::{
    AgentView, AuditRecord, AuditReport, Chain, Continued, Entered, Reached, ReceiptView,
    RunDetail, RunRequest, RunState, RunSummary, RunsRequest, WitnessRequest, WitnessView,
};
pub use lease::{LeaseAddRequest, LeaseRevokeRequest, LeaseView};
pub use machine::{
    Availability, Check, DoctorReport, Homes, InitReport, InitRequest, KeyView, TrustDecision,
    TrustFile, TrustReport, TrustRequest, TrustState, Trusted, TrustedFile, TrustedKey,
};
pub use problem::{Finding, Problem, RuleRef, exit};
pub use profile::{
    AuthorityView, Decision, EnvironmentView, ExpectationResult, ExplainRequest, Explanation,
    LayerView, LentView, LostRule, MountView, NeedView, NetworkView, PolicyCheckRequest,
    PolicyShowRequest, PolicyTestReport, PolicyTestRequest, ProfileReport, RuleView,
};
pub use proposal::{
    ObstacleView, ProposalPlace, ProposalReport, ProposedRule, RiskView, Unproposed,
};
pub use verification::{
    CheckOn, CheckProgress, CheckView, CheckedView, CriterionView, ExportReport, ExportRequest,
    ReviewView, SteeringView, TestCounts, VerificationView, VerifyReport, VerifyRequest,
};
