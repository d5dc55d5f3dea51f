//! The components that a verifier runs, and which of them it approves.
//!
//! Approval comes from the verifier's side: the components built into its
//! binary and those that its user named. A bundle's own copy is only compared
//! with what the entries name. The checks need three functions of a profile
//! ([`Component`]); the engine's profiles have them.

use countersign_canon::{
    Admitted, Classification, Digest, Interpretation, Numbers, Presented, ProfileId, Recorded,
    Refusal, preimage,
};
use countersign_engine::{Profile, Profiles, Warm};

/// What the checks need of a profile.
pub trait Component: Send + Sync {
    /// The profile's name and version.
    fn id(&self) -> &ProfileId;
    /// The digest of the component's bytes.
    fn digest(&self) -> Digest;
    /// Reads one message; the outer error is a fault, in words.
    ///
    /// # Errors
    /// The inner error is the profile's verdict, the outer one the lack of one.
    fn admit(&self, message: &[u8]) -> Result<Result<Admitted, Refusal>, String>;
    /// The binding and the tool of an action.
    ///
    /// # Errors
    /// As for `admit`.
    fn interpret(&self, action: &[u8]) -> Result<Result<Meaning, Refusal>, String>;
    /// Something that says of many attempts what each is.
    fn classifier(&self) -> Box<dyn Classifier + '_>;
}

/// The `classify` of one component, for many questions.
pub trait Classifier {
    /// What an attempt is.
    ///
    /// # Errors
    /// A fault, in words.
    fn classify(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, String>;
}

/// What an action means, as far as entries say it.
pub struct Meaning {
    /// The binding.
    pub binding: Digest,
    /// The tool's name.
    pub tool: String,
    /// The view, from which policy decides.
    pub view: countersign_canon::View,
}

/// The components that a verifier approves.
#[derive(Default)]
pub struct Components(Vec<Box<dyn Component>>);

impl Components {
    /// None: then nothing that depends on a component can be established.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Every profile of a set, be it built in or named by the user.
    #[must_use]
    pub fn of(profiles: &Profiles) -> Self {
        let mut components = Self::none();
        profiles
            .iter()
            .for_each(|profile| components.approve(profile.clone()));
        components
    }

    /// Adds one.
    pub fn approve(&mut self, component: impl Component + 'static) {
        self.0.push(Box::new(component));
    }

    /// The approved component of that profile and digest.
    pub(crate) fn find(&self, id: &str, digest: Digest) -> Option<&dyn Component> {
        self.position(id, digest).map(|(_, component)| component)
    }

    /// As [`Components::find`], with its number.
    pub(crate) fn position(&self, id: &str, digest: Digest) -> Option<(usize, &dyn Component)> {
        let mut all = self.0.iter().enumerate();
        let found = all.find(|(_, found)| found.digest() == digest && found.id().as_str() == id);
        found.map(|(at, found)| (at, &**found))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Component for Profile {
    fn id(&self) -> &ProfileId {
        Profile::id(self)
    }

    fn digest(&self) -> Digest {
        self.component_digest()
    }

    fn admit(&self, message: &[u8]) -> Result<Result<Admitted, Refusal>, String> {
        Profile::admit(self, message).map_err(|fault| fault.to_string())
    }

    fn interpret(&self, action: &[u8]) -> Result<Result<Meaning, Refusal>, String> {
        let said = Profile::interpret(self, action).map_err(|fault| fault.to_string())?;
        Ok(said.map(|said| Meaning {
            binding: said.binding,
            tool: said.tool,
            view: said.view,
        }))
    }

    fn classifier(&self) -> Box<dyn Classifier + '_> {
        Box::new(Reused {
            profile: self,
            warm: None,
        })
    }
}

/// One instance for all questions: `classify` sees no caller's bytes, and its
/// finite table is computed natively besides. An instance that failed is not
/// asked again.
struct Reused<'p> {
    profile: &'p Profile,
    warm: Option<Warm<'p>>,
}

impl Classifier for Reused<'_> {
    fn classify(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, String> {
        let mut warm = match self.warm.take() {
            Some(warm) => warm,
            None => self.profile.warm().map_err(|fault| fault.to_string())?,
        };
        let said = warm.classify(presented, recorded);
        if said.is_ok() {
            self.warm = Some(warm);
        }
        said.map_err(|fault| fault.to_string())
    }
}

/// The shipped profiles' rules as native code, without WebAssembly: for
/// environments that cannot run a component, and for tests. What it shows is
/// that this verifier's own code agrees, so a report must say that it was used.
pub struct Native {
    id: ProfileId,
    digest: Digest,
    numbers: Numbers,
}

impl Native {
    /// Stands for the component with that digest.
    #[must_use]
    pub fn new(id: ProfileId, digest: Digest, numbers: Numbers) -> Self {
        Self {
            id,
            digest,
            numbers,
        }
    }
}

impl Component for Native {
    fn id(&self) -> &ProfileId {
        &self.id
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn admit(&self, message: &[u8]) -> Result<Result<Admitted, Refusal>, String> {
        Ok(countersign_canon::admit(self.numbers, message))
    }

    fn interpret(&self, action: &[u8]) -> Result<Result<Meaning, Refusal>, String> {
        let said = countersign_canon::interpret(&self.id, self.numbers, action);
        Ok(match said {
            Ok(Interpretation { tool, view, .. }) => {
                let binding = preimage::binding(&self.id, action);
                let view = countersign_canon::View::new(view).map_err(|_| "no view".to_owned())?;
                Ok(Meaning {
                    binding,
                    tool,
                    view,
                })
            }
            Err(refusal) => Err(refusal),
        })
    }

    fn classifier(&self) -> Box<dyn Classifier + '_> {
        Box::new(Table)
    }
}

/// The table itself.
struct Table;

impl Classifier for Table {
    fn classify(
        &mut self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Result<Classification, String> {
        Ok(countersign_canon::classify(presented, recorded))
    }
}
