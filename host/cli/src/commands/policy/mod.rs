//! `countersign policy`: writing policies, without a gateway.

mod case;
mod explain;
mod test;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use countersign_gateway::operator::Office;
use countersign_gateway::policy_tools;
use countersign_policy::{Bundle, OwnedTool, PolicySet, Typed};

use crate::commands::audit;
use crate::failure::{Failure, Status};
use crate::{files, text};

/// Check, test and explain policies
///
/// Policies are those that the configuration names, or of the folder that is
/// given. Where the configuration names a lock they are held against the
/// approved tools, as at a start of the gateway.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    Schema(Schema),
    Check(Check),
    Test(test::Test),
    Explain(explain::Explain),
    Reload(Reload),
}

/// Print the Cedar schema of the approved tools
///
/// It has an action for each tool, with the types of its arguments in
/// `context.args`; without a lock it has what every call has.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  wrong usage, or a file that cannot be read")]
pub(crate) struct Schema {
    #[command(flatten)]
    policies: Policies,
}

/// Check that policies can be loaded
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  they hold
  1  they do not; every problem is told, with file, line and what to write
  2  wrong usage, or a file that cannot be read")]
pub(crate) struct Check {
    #[command(flatten)]
    policies: Policies,
}

/// Make a running gateway read its profiles, its policies and its lock again
///
/// All or nothing: where anything in them does not hold, what was in force
/// stays so. SIGHUP does the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  they are in force
  2  wrong usage, no gateway runs, or they do not hold")]
pub(crate) struct Reload {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
}

/// Which policies are meant.
#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// The gateway's configuration
    #[arg(long, value_name = "FILE", default_value = "countersign.toml")]
    config: PathBuf,
    /// A folder of policies, without any configuration
    #[arg(long, value_name = "FOLDER", conflicts_with = "config")]
    folder: Option<PathBuf>,
}

/// Policies with what they are held against.
pub(crate) struct Loaded {
    pub(crate) set: PolicySet,
    pub(crate) tools: Option<Vec<OwnedTool>>,
}

impl Loaded {
    /// The approved tool of that name.
    pub(crate) fn tool(&self, server: &str, name: &str) -> Option<&OwnedTool> {
        let tools = self.tools.as_ref()?;
        tools
            .iter()
            .find(|tool| tool.server == server && tool.name == name)
    }
}

impl Policies {
    fn source(&self) -> Result<(Bundle, Option<Vec<OwnedTool>>), Failure> {
        let read = |folder: &PathBuf| Bundle::read(folder).map_err(|error| files::unusable(&error));
        if let Some(folder) = &self.folder {
            return Ok((read(folder)?, None));
        }
        let config = audit::config(&self.config)?;
        let tools = policy_tools(&config).map_err(|error| files::unusable(&error))?;
        let bundle = config.policies.as_ref().map(read).transpose()?;
        Ok((bundle.unwrap_or_else(Bundle::shipped), tools))
    }

    /// Loads them as a gateway does.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        let (bundle, tools) = self.source()?;
        let set = match &tools {
            Some(tools) => {
                let typed: Vec<Typed<'_>> = tools.iter().map(OwnedTool::typed).collect();
                PolicySet::load_for(bundle, &typed)
            }
            None => PolicySet::load(bundle),
        };
        let set = set.map_err(|error| Failure::new(Status::DOES_NOT_HOLD, error.to_string()))?;
        Ok(Loaded { set, tools })
    }
}

impl Policy {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        match self {
            Self::Schema(schema) => schema.run(),
            Self::Check(check) => check.run(),
            Self::Test(test) => test.run(),
            Self::Explain(explain) => explain.run(),
            Self::Reload(reload) => reload.run(),
        }
    }
}

impl Schema {
    fn run(&self) -> Result<Status, Failure> {
        let (_, tools) = self.policies.source()?;
        let tools = tools.unwrap_or_default();
        let typed: Vec<Typed<'_>> = tools.iter().map(OwnedTool::typed).collect();
        text::print(&countersign_policy::schema(&typed))
    }
}

impl Check {
    fn run(&self) -> Result<Status, Failure> {
        let loaded = self.policies.load()?;
        let count = loaded.set.ids().count();
        let against = match &loaded.tools {
            Some(tools) => format!("{} approved tools", tools.len()),
            None => "no approved tools".to_owned(),
        };
        let digest = loaded.set.digest();
        text::print(&format!(
            "{count} policies hold against {against}: {digest}\n"
        ))
    }
}

impl Reload {
    fn run(&self) -> Result<Status, Failure> {
        let config = audit::config(&self.config)?;
        let now = Office::reload(&config.store).map_err(|error| files::unusable(&error))?;
        let servers = match now.servers.as_slice() {
            [] => String::new(),
            servers => format!("; approvals changed: {}", servers.join(", ")),
        };
        let loaded = match now.loaded.as_slice() {
            [] => String::new(),
            loaded => format!("; profiles loaded: {}", loaded.join(", ")),
        };
        text::print(&format!(
            "in force: {}{servers}; new calls: {}{loaded}\n",
            now.policies, now.profile
        ))
    }
}
