//! `countersign profile key`, `sign` and `verify`: a vendor's word that these
//! bytes are that profile.

use std::path::{Path, PathBuf};

use clap::Args;
use countersign_canon::ProfileId;
use countersign_engine::{ComponentFile, Pin};
use countersign_evidence::LogId;
use countersign_evidence::key::{SigningKey, VerifyingKey};
use countersign_evidence::keyfile;
use countersign_evidence::profile_signature::{ProfileSignature, SignatureProblem, sign};

use crate::environment;
use crate::failure::{Failure, Status};
use crate::files::{self, PUBLIC};
use crate::profiles;
use crate::text::print;

/// Make a key to sign profiles with
///
/// Prints the public key, which operators who trust it name in
/// `[[profile.vendor]]`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  the key is written, and its public half printed
  2  wrong usage, or a file that is there or cannot be written")]
pub(crate) struct Key {
    /// The name of the key, like `example.com/profiles`
    name: String,
    /// A new file, which its owner alone can read
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Sign a component
///
/// The signature says that the component with this digest is the profile that
/// its file's name says. Only what a gateway would load is signed, and a
/// signature that is there stays unless it is to be replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  signed
  2  wrong usage, a signature that is there, or a file that cannot be read or
     written
  4  no gateway would load it")]
pub(crate) struct Sign {
    /// The file of the key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where the signature goes; beside the component unless said
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Put it in place of a signature that is there
    #[arg(long)]
    replace: bool,
    /// The component, `NAME@VERSION.wasm`
    component: PathBuf,
}

/// Check a vendor's signature of a component
///
/// As a gateway does before it loads one. Nothing of the component is run.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  one of the keys signed that this component is this profile
  1  none did
  2  wrong usage, or a file that cannot be read")]
pub(crate) struct Verify {
    /// A public key that is trusted, or a file that holds it
    #[arg(long, value_name = "KEY", required = true)]
    key: Vec<String>,
    /// The signature; the file beside the component unless said
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// The component, `NAME@VERSION.wasm`
    component: PathBuf,
}

/// `NAME@VERSION.wasm.sig`
fn beside(component: &Path) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

impl Key {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let name = LogId::new(&self.name).map_err(|error| {
            Failure::new(
                Status::USAGE,
                format!("`{}` is no key's name: {error}", self.name),
            )
        })?;
        let mut seed = [0; 32];
        if !environment::random(&mut seed) {
            return Err(Failure::new(Status::USAGE, "there is no randomness"));
        }
        let key = SigningKey::from_seed(name, &seed);
        keyfile::create(&self.output, &key)
            .map_err(|error| files::in_file(&self.output, &error))?;
        print(&format!("{}\n", key.verifying_key()))
    }
}

impl Sign {
    /// The code of a signature that would be lost.
    const CODE: &'static str = "profile-signature-exists";

    pub(super) fn run(&self) -> Result<Status, Failure> {
        let key = keyfile::read(&self.key).map_err(|error| files::in_file(&self.key, &error))?;
        let file = ComponentFile::read(&self.component)?;
        let pin = Pin {
            id: file.id().clone(),
            digest: file.digest(),
        };
        profiles::engine(false, 1)?.load_foreign(file.bytes(), Some(&pin))?;
        let note = sign(&key, &pin.id, pin.digest);
        let output = self.output.clone();
        let output = output.unwrap_or_else(|| beside(&self.component));
        if self.replace {
            files::write(&output, PUBLIC, |out| {
                out.write_all(note.as_bytes())
                    .map_err(|error| files::at(&output, &error))
            })?;
        } else if !files::create(&output, note.as_bytes())? {
            let text = format!("`{}` is there already ({})", output.display(), Self::CODE);
            return Err(Failure::new(Status::USAGE, text).with_help(
                "`--replace` puts the new one in its place; `--output` takes another file",
            ));
        }
        said(&pin.id, &pin, &key.verifying_key())
    }
}

impl Verify {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let keys: Vec<VerifyingKey> = self
            .key
            .iter()
            .map(|given| files::key(given))
            .collect::<Result<_, _>>()?;
        let file = ComponentFile::read(&self.component)?;
        let pin = Pin {
            id: file.id().clone(),
            digest: file.digest(),
        };
        let path = self.signature.clone();
        let path = path.unwrap_or_else(|| beside(&self.component));
        // What is no text is no note either.
        let note = String::from_utf8_lossy(&files::small(&path)?).into_owned();
        let vendor = ProfileSignature::parse(&note)
            .and_then(|signature| signature.check(&keys, &pin.id, pin.digest))
            .map_err(|problem| refused(&path, &problem))?;
        said(&pin.id, &pin, vendor)
    }
}

fn said(profile: &ProfileId, pin: &Pin, vendor: &VerifyingKey) -> Result<Status, Failure> {
    print(&format!(
        "profile    {profile}\ndigest     {}\nvendor     {vendor}\n",
        pin.digest
    ))
}

fn refused(path: &Path, problem: &SignatureProblem) -> Failure {
    let text = format!("`{}`: {problem} ({})", path.display(), problem.code());
    Failure::new(Status::DOES_NOT_HOLD, text).with_help(problem.help())
}
