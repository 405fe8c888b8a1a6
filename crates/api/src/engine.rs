//! The commands, a method each.

use std::path::Path;

use crate::{
    AnswerReport, AnswerRequest, ApplyReport, ApplyRequest, ApprovalsRequest, AskView, AuditReport,
    AuthorityView, BranchReport, BranchRequest, ContractCheckRequest, ContractDraft,
    ContractProposeRequest, ContractReport, DiffReport, DiffRequest, DiscardReport, DoctorReport,
    ExecReport, ExecRequest, ExplainRequest, Explanation, ExportReport, ExportRequest, GitReport,
    GitRequest, Homes, InitReport, InitRequest, KeyView, LeaseAddRequest, LeaseRevokeRequest,
    LeaseView, LoginRequest, LoginView, ModelView, Person, PolicyCheckRequest, PolicyShowRequest,
    PolicyTestReport, PolicyTestRequest, Problem, ProfileReport, ProposalReport, ReceiptView,
    RunDetail, RunRequest, RunSummary, RunsRequest, SessionView, SessionsRequest, StopReport,
    StopRequest, TaskReport, TaskRequest, TrustReport, TrustRequest, Trusted, UndoReport,
    VerifyReport, VerifyRequest, WitnessRequest, WitnessView, event,
};

/// What Loop can be asked to do. A client holds one of these and knows nothing else.
pub trait Engine {
    /// Runs a command in a sandbox; its standard streams are this process's. Where something has
    /// to be asked meanwhile, `person` is.
    ///
    /// A command that fails, is denied something or runs into a limit is a report. A problem means
    /// that it never started, or that its evidence couldn't be kept.
    fn exec(&self, request: ExecRequest, person: &dyn Person) -> Result<ExecReport, Problem>;

    /// Has Loop's own agent work on a task in a sandbox. `watch` sees what it does, as it does it;
    /// where something has to be asked meanwhile, `person` is.
    ///
    /// A task that isn't done, or that a limit ends, is a report. A problem means that nothing was
    /// started, or that the evidence couldn't be kept.
    fn work(
        &self,
        request: TaskRequest,
        person: &dyn Person,
        watch: &mut dyn FnMut(&event::Event),
    ) -> Result<TaskReport, Problem>;

    /// The sessions of Loop's own agent, newest first.
    fn sessions(&self, request: SessionsRequest) -> Result<Vec<SessionView>, Problem>;

    /// The models that there are, and what is missing for others.
    fn models(&self) -> Result<Vec<ModelView>, Problem>;

    /// Keeps a provider's key.
    fn login(&self, request: LoginRequest) -> Result<LoginView, Problem>;

    /// Forgets a provider's key.
    fn logout(&self, provider: &str) -> Result<LoginView, Problem>;

    /// Ends a warm sandbox and seals its run.
    fn stop(&self, request: StopRequest) -> Result<StopReport, Problem>;

    /// What waits for a person, in the runs of this project first, newest first.
    fn approvals(&self, request: ApprovalsRequest) -> Result<Vec<AskView>, Problem>;

    /// Answers an ask. An answer to something else than what waits is a problem.
    fn answer(&self, request: AnswerRequest) -> Result<AnswerReport, Problem>;

    /// The runs, newest first.
    fn runs(&self, request: RunsRequest) -> Result<Vec<RunSummary>, Problem>;

    /// One run.
    fn show(&self, request: RunRequest) -> Result<RunDetail, Problem>;

    /// One run's ledger.
    fn audit(&self, request: RunRequest) -> Result<AuditReport, Problem>;

    /// One run's change set.
    fn diff(&self, request: DiffRequest) -> Result<DiffReport, Problem>;

    /// Carries a change set into the project.
    fn apply(&self, request: ApplyRequest) -> Result<ApplyReport, Problem>;

    /// Drops a change set.
    fn discard(&self, request: RunRequest) -> Result<DiscardReport, Problem>;

    /// Takes an apply back.
    fn undo(&self, request: RunRequest) -> Result<UndoReport, Problem>;

    /// Puts a run's commits on a branch of the project's repository.
    fn branch(&self, request: BranchRequest) -> Result<BranchReport, Problem>;

    /// Runs git to look at a repository that is not trusted; its streams are this process's.
    fn git(&self, request: GitRequest) -> Result<GitReport, Problem>;

    /// One run's receipt.
    fn receipt(&self, request: RunRequest) -> Result<ReceiptView, Problem>;
    /// Keeps a signed head of one run's ledger in a file elsewhere.
    fn witness(&self, request: WitnessRequest) -> Result<WitnessView, Problem>;

    /// Writes what somebody else needs to verify a run's receipt and to re-execute its checks.
    fn receipt_export(&self, request: ExportRequest) -> Result<ExportReport, Problem>;

    /// Re-executes a run's checks, as a run of its own, and says whether its outcome reproduces.
    fn verify(&self, request: VerifyRequest, person: &dyn Person) -> Result<VerifyReport, Problem>;

    /// Whether a profile can be loaded.
    fn policy_check(&self, request: PolicyCheckRequest) -> Result<ProfileReport, Problem>;

    /// What a profile amounts to here.
    fn policy_show(&self, request: PolicyShowRequest) -> Result<AuthorityView, Problem>;

    /// What would be decided about an action, by the evaluation that enforces.
    fn policy_explain(&self, request: ExplainRequest) -> Result<Explanation, Problem>;

    /// Runs a profile's self-tests.
    fn policy_test(&self, request: PolicyTestRequest) -> Result<PolicyTestReport, Problem>;

    /// What a run would have needed, as an addition to its profile; adds nothing.
    fn policy_propose(&self, request: RunRequest) -> Result<ProposalReport, Problem>;

    /// Whether a contract can be read.
    fn contract_check(&self, request: ContractCheckRequest) -> Result<ContractReport, Problem>;

    /// A draft of a contract, from what the project's files say; writes nothing.
    fn contract_propose(&self, request: ContractProposeRequest) -> Result<ContractDraft, Problem>;

    /// The signing key, made at its first use.
    fn key_show(&self) -> Result<KeyView, Problem>;

    /// Makes another key: the secret one in `file`, the public one beside it. Neither may exist.
    fn key_create(&self, file: &Path) -> Result<KeyView, Problem>;

    /// Whose receipts this machine trusts: its own key, among others; makes none.
    fn trusted(&self) -> Result<Trusted, Problem>;

    /// Makes a credential known that runs can be lent. Its value is not read, and not kept.
    fn lease_add(&self, request: LeaseAddRequest) -> Result<LeaseView, Problem>;

    /// The leases, by name.
    fn lease_list(&self) -> Result<Vec<LeaseView>, Problem>;

    /// Takes a lease back, from every run that has it too.
    fn lease_revoke(&self, request: LeaseRevokeRequest) -> Result<LeaseView, Problem>;

    /// Makes a project's configuration file, and trusts what it made.
    fn init(&self, request: InitRequest) -> Result<InitReport, Problem>;

    /// Looks at a project's configuration or contract, trusts it, or takes trust back.
    fn trust(&self, request: TrustRequest) -> Result<TrustReport, Problem>;

    /// What this machine can enforce.
    fn doctor(&self) -> Result<DoctorReport, Problem>;

    /// The same engine on other directories, so that a demonstration leaves the person's alone.
    fn at(&self, homes: Homes) -> Result<Box<dyn Engine>, Problem>;
}
