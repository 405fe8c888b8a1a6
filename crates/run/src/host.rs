//! Loop on this machine: each command, and the module that tells it.

use std::path::Path;

use api::event::Event;
use api::{
    AnswerReport, AnswerRequest, ApplyReport, ApplyRequest, ApprovalsRequest, AskView, AuditReport,
    AuthorityView, BranchReport, BranchRequest, ContractCheckRequest, ContractDraft,
    ContractProposeRequest, ContractReport, DiffReport, DiffRequest, DiscardReport, DoctorReport,
    Engine, ExecReport, ExecRequest, ExplainRequest, Explanation, ExportReport, ExportRequest,
    GitReport, GitRequest, Homes, InitReport, InitRequest, KeyView, LeaseAddRequest,
    LeaseRevokeRequest, LeaseView, LoginRequest, LoginView, ModelView, Person, PolicyCheckRequest,
    PolicyShowRequest, PolicyTestReport, PolicyTestRequest, Problem, ProfileReport, ProposalReport,
    ReceiptView, RunDetail, RunRequest, RunSummary, RunsRequest, SessionView, SessionsRequest,
    StopReport, StopRequest, TaskReport, TaskRequest, TrustReport, TrustRequest, Trusted,
    UndoReport, VerifyReport, VerifyRequest, WitnessRequest, WitnessView, exit,
};

use crate::settings::Settings;
use crate::{
    approvals, branch, changes, contract, doctor, exec, init, inspect, keys, lease, login,
    policy_commands, proposal, session, trust, verify, witness, work,
};

/// Loop on this machine.
#[derive(Debug, Clone)]
pub struct Host {
    settings: Settings,
}

impl Host {
    /// With directories and environment of this process.
    ///
    /// # Errors
    /// When the process has no home.
    pub fn from_process() -> Result<Self, Problem> {
        let settings = Settings::from_process().map_err(|what| {
            Problem::new(exit::UNSAFE, what).with_next("set HOME to your home directory")
        })?;
        Ok(Self::new(settings))
    }

    /// With these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl Engine for Host {
    fn exec(&self, request: ExecRequest, person: &dyn Person) -> Result<ExecReport, Problem> {
        exec::exec(&self.settings, request, person)
    }

    fn work(
        &self,
        request: TaskRequest,
        person: &dyn Person,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<TaskReport, Problem> {
        work::work(&self.settings, &request, person, watch)
    }

    fn sessions(&self, request: SessionsRequest) -> Result<Vec<SessionView>, Problem> {
        work::sessions(&self.settings, &request)
    }

    fn models(&self) -> Result<Vec<ModelView>, Problem> {
        login::models(&self.settings)
    }

    fn login(&self, request: LoginRequest) -> Result<LoginView, Problem> {
        login::login(&self.settings, &request)
    }

    fn logout(&self, provider: &str) -> Result<LoginView, Problem> {
        login::logout(&self.settings, provider)
    }

    fn stop(&self, request: StopRequest) -> Result<StopReport, Problem> {
        session::stop(&self.settings, request)
    }

    fn approvals(&self, request: ApprovalsRequest) -> Result<Vec<AskView>, Problem> {
        approvals::approvals(&self.settings, &request)
    }

    fn answer(&self, request: AnswerRequest) -> Result<AnswerReport, Problem> {
        approvals::answer(&self.settings, &request)
    }

    fn runs(&self, request: RunsRequest) -> Result<Vec<RunSummary>, Problem> {
        inspect::runs(&self.settings, &request)
    }

    fn show(&self, request: RunRequest) -> Result<RunDetail, Problem> {
        inspect::show(&self.settings, &request)
    }

    fn audit(&self, request: RunRequest) -> Result<AuditReport, Problem> {
        inspect::audit(&self.settings, &request)
    }

    fn diff(&self, request: DiffRequest) -> Result<DiffReport, Problem> {
        changes::diff(&self.settings, &request)
    }

    fn apply(&self, request: ApplyRequest) -> Result<ApplyReport, Problem> {
        changes::apply(&self.settings, &request)
    }

    fn discard(&self, request: RunRequest) -> Result<DiscardReport, Problem> {
        changes::discard(&self.settings, &request)
    }

    fn undo(&self, request: RunRequest) -> Result<UndoReport, Problem> {
        changes::undo(&self.settings, &request)
    }

    fn branch(&self, request: BranchRequest) -> Result<BranchReport, Problem> {
        branch::branch(&self.settings, &request)
    }

    fn git(&self, request: GitRequest) -> Result<GitReport, Problem> {
        branch::git(&self.settings, &request)
    }

    fn receipt(&self, request: RunRequest) -> Result<ReceiptView, Problem> {
        inspect::receipt(&self.settings, &request)
    }

    fn witness(&self, request: WitnessRequest) -> Result<WitnessView, Problem> {
        witness::witness(&self.settings, &request)
    }

    fn receipt_export(&self, request: ExportRequest) -> Result<ExportReport, Problem> {
        verify::export(&self.settings, &request)
    }

    fn verify(&self, request: VerifyRequest, person: &dyn Person) -> Result<VerifyReport, Problem> {
        verify::verify(&self.settings, &request, person)
    }

    fn policy_check(&self, request: PolicyCheckRequest) -> Result<ProfileReport, Problem> {
        policy_commands::check(&self.settings, &request)
    }

    fn policy_show(&self, request: PolicyShowRequest) -> Result<AuthorityView, Problem> {
        policy_commands::show(&self.settings, &request)
    }

    fn policy_explain(&self, request: ExplainRequest) -> Result<Explanation, Problem> {
        policy_commands::explain(&self.settings, &request)
    }

    fn policy_test(&self, request: PolicyTestRequest) -> Result<PolicyTestReport, Problem> {
        policy_commands::test(&self.settings, &request)
    }

    fn policy_propose(&self, request: RunRequest) -> Result<ProposalReport, Problem> {
        proposal::propose(&self.settings, &request)
    }

    fn contract_check(&self, request: ContractCheckRequest) -> Result<ContractReport, Problem> {
        contract::check(&self.settings, &request)
    }

    fn contract_propose(&self, request: ContractProposeRequest) -> Result<ContractDraft, Problem> {
        contract::propose(&self.settings, &request)
    }

    fn key_show(&self) -> Result<KeyView, Problem> {
        keys::key_show(&self.settings)
    }

    fn key_create(&self, file: &Path) -> Result<KeyView, Problem> {
        keys::key_create(&self.settings, file)
    }

    fn trusted(&self) -> Result<Trusted, Problem> {
        keys::trusted(&self.settings)
    }

    fn lease_add(&self, request: LeaseAddRequest) -> Result<LeaseView, Problem> {
        lease::add(&self.settings, &request)
    }

    fn lease_list(&self) -> Result<Vec<LeaseView>, Problem> {
        lease::list(&self.settings)
    }

    fn lease_revoke(&self, request: LeaseRevokeRequest) -> Result<LeaseView, Problem> {
        lease::revoke(&self.settings, &request)
    }

    fn init(&self, request: InitRequest) -> Result<InitReport, Problem> {
        init::init(&self.settings, &request)
    }

    fn trust(&self, request: TrustRequest) -> Result<TrustReport, Problem> {
        trust::trust(&self.settings, &request)
    }

    fn doctor(&self) -> Result<DoctorReport, Problem> {
        doctor::doctor(&self.settings)
    }

    fn at(&self, homes: Homes) -> Result<Box<dyn Engine>, Problem> {
        Ok(Box::new(Self::new(Settings { homes, ..self.settings.clone() })))
    }
}
