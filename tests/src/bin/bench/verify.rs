//! What verification costs: entries against plain SHA-256 of the same bytes,
//! admissions in fresh instances, and the memory of a million entries.

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign_canon::{Admitted, Classification, Digest, Outcome};
use countersign_engine::{Engine, Profile, Profiles, Settings, embedded};
use countersign_evidence::bundle::{Bundle, LogExtent, Manifest, Writer};
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::{
    Agent, Catalog, Decision, Draft, EffectBoundary, ExecutionIdStatus, Head, Kind, Link, LogId,
    PolicyInputs, Time, keyfile,
};
use countersign_tests::measure::{Samples, processor_time, wall};
use countersign_verifier::{Claim, Components, Inputs, Status, verify};
use sha2::{Digest as _, Sha256};

use crate::report::{self, Goal, Report};

/// Entries of the bundle that is verified again and again.
const ENTRIES: u64 = 100_000;

pub(crate) fn run() -> Report {
    let mut report = Report::new("Verification");
    report.say(
        "`cargo xtask bench verify`: a whole bundle, verified again and again, against plain SHA-256 of the same bytes \
         in the same run, in software on both sides. What one core does is measured in processor time; figures are \
         medians.",
    );
    let engine = Engine::new(&Settings::default()).unwrap();
    let profiles = Profiles::embedded(&engine).unwrap();
    let id = embedded::default().unwrap().pin().id.clone();
    let profile = profiles.get(&id).unwrap();
    let mut rows = entries(&profiles, profile);
    rows.push(admissions(profile));
    report.table(["in a second", "measured", "goal", "met"], &rows);
    report
}

fn row(name: String, value: f64, goal: Option<Goal>) -> [String; 4] {
    let [goal, met] = goal.map_or_else(report::no_goal, |goal| goal.cells(value));
    [name, report::number(value), goal, met]
}

fn key() -> SigningKey {
    SigningKey::from_seed(LogId::new("bench.example/1").unwrap(), &[7; 32])
}

fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

/// An admission as a gateway writes it, every field that it fills.
fn admission(profile: &Profile, number: u64) -> Draft {
    let micros = i64::try_from(number).unwrap() * 1_000;
    let mut draft = Draft::new(
        Kind::Admission,
        Time::from_micros(1_767_323_045_000_000 + micros),
    );
    draft.call_id = format!("3f1c0d2e-0000-4000-8000-{number:012}").parse().ok();
    draft.agent = Some(Agent {
        method: "token".into(),
        issuer: "https://issuer.example.com".into(),
        subject: format!("agent-{}", number % 17),
    });
    draft.execution_id = format!("invoice-2026-{number:09}").parse().ok();
    draft.execution_id_status = Some(ExecutionIdStatus::Present);
    draft.workflow_id = format!("run-{}", number / 8).parse().ok();
    draft.revision = Some("2026-07-28".into());
    draft.client_digest = Some(digest("client"));
    draft.server = "ledger".parse().ok();
    draft.server_digest = Some(digest("https://ledger.example.com/mcp"));
    draft.tool = Some(["transfer", "balance", "überweisen"][(number % 3) as usize].into());
    draft.profile = Some(profile.id().to_string());
    draft.world = Some("countersign:admission@1.0.0".into());
    draft.component = Some(profile.component_digest());
    draft.binding = Some(Digest::of(&[&number.to_be_bytes()]));
    draft.classification = Some(Classification::Fresh.into());
    draft.decision = Some(Decision {
        allow: true,
        determining: vec!["transfers.cedar#permit-small".into()],
        reason: "permitted".into(),
    });
    draft.policy_inputs = Some(PolicyInputs {
        class: "side-effecting".into(),
        audience: None,
        proof_key: None,
    });
    draft.evaluator = Some("cedar-policy@4".into());
    draft.policy_digest = Some(digest("policies"));
    draft.catalog = Catalog {
        attributed: Some(digest("tool")),
        ..Catalog::default()
    };
    draft.effect_boundary = Some(EffectBoundary::PreTransport);
    draft.fence = Some(1);
    draft.incarnation = Some("1".into());
    draft
}

/// The terminal entry of the same execution.
fn terminal(admission: &Draft) -> Draft {
    let mut draft = admission.clone();
    draft.kind = Kind::Terminal;
    draft.classification = None;
    draft.decision = None;
    draft.policy_inputs = None;
    draft.evaluator = None;
    draft.outcome = Some(Outcome::Succeeded);
    draft.effect_boundary = Some(EffectBoundary::ResponseReceived);
    draft.answer_digest = Some(digest("answer"));
    draft.answer_bytes = Some(512);
    draft
}

/// A whole bundle of so many entries: executions, each with its outcome.
fn bundle(profile: &Profile, entries: u64) -> Vec<u8> {
    let log_id = key().name().clone();
    let manifest = Manifest {
        exported: None,
        logs: vec![LogExtent {
            log_id: log_id.clone(),
            size: entries,
            key: None,
        }],
        filter: None,
    };
    let mut head = Head::new(log_id);
    let mut writer = Writer::new(Vec::new(), &manifest).unwrap();
    for number in 0..entries / 2 {
        let admission = admission(profile, number);
        let first = Link {
            execution_seq: 0,
            execution_previous: None,
        };
        let reserved = head.append(admission.clone(), Some(first));
        writer.entry(&reserved).unwrap();
        let settled = head.append(terminal(&admission), reserved.next_link());
        writer.entry(&settled).unwrap();
    }
    writer
        .checkpoint(&Checkpoint::of(&head).sign(&key()))
        .unwrap();
    writer.finish().unwrap()
}

fn entries(profiles: &Profiles, profile: &Profile) -> Vec<[String; 4]> {
    let bundle = bundle(profile, ENTRIES);
    let mut inputs = Inputs {
        trusted: vec![key().verifying_key()],
        components: Components::of(profiles),
        ..Inputs::default()
    };
    let mut lines = Vec::new();
    let mut opened = Bundle::open(Cursor::new(&bundle)).unwrap();
    let mut entries = opened.entries();
    while let Some(line) = entries.next().unwrap() {
        lines.extend_from_slice(line);
    }
    let bytes = lines.len() as u64 / ENTRIES;
    let (mut plain, mut verified, mut shared) =
        (Samples::default(), Samples::default(), Samples::default());
    for round in 0..6 {
        let before = processor_time();
        black_box(Sha256::digest(black_box(&lines)));
        let hashed = processor_time() - before;
        inputs.threads = 1;
        let before = processor_time();
        let report = verify(Cursor::new(&bundle), &inputs).unwrap();
        let took = processor_time() - before;
        for claim in [Claim::Integrity, Claim::Classification] {
            assert_eq!(report.status(claim), Status::Verified, "{claim}");
        }
        inputs.threads = 2;
        let two = wall(|| verify(Cursor::new(&bundle), &inputs).unwrap()).1;
        if round > 0 {
            plain.add(hashed);
            verified.add(took);
            shared.add(two);
        }
    }
    let rate = |samples: &Samples| ENTRIES as f64 / samples.median().as_secs_f64();
    vec![
        row(
            format!("entries of {bytes} bytes, integrity and classification, one core"),
            rate(&verified),
            Some(Goal::AtLeast(40_000.0)),
        ),
        row(
            "the same, two threads, on the clock".into(),
            rate(&shared),
            None,
        ),
        row(
            format!(
                "the same bytes through SHA-256 alone: verification takes {} times as long",
                report::number(verified.median().as_secs_f64() / plain.median().as_secs_f64())
            ),
            rate(&plain),
            None,
        ),
    ]
}

/// A request of a kibibyte, admitted and interpreted in fresh instances.
fn admissions(profile: &Profile) -> [String; 4] {
    let mut text = String::from(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"countersign.dev/execution_id":"e-1"},"name":"transfer","arguments":{"from":"alice","to":"bob","amount":5000,"notes":[""#,
    );
    while text.len() < 1_020 {
        text.push_str("caf\\u00e9, plain \",\"");
    }
    text.push_str(r#""]}}}"#);
    let message = text.into_bytes();
    let mut samples = Samples::default();
    let rounds = 20_000_u32;
    for round in 0..6 {
        let before = processor_time();
        for _ in 0..rounds {
            let Ok(Admitted::Call(call)) = profile.admit(black_box(&message)).unwrap() else {
                unreachable!()
            };
            black_box(profile.interpret(&call.action).unwrap().unwrap());
        }
        if round > 0 {
            samples.add((processor_time() - before) / rounds);
        }
    }
    row(
        format!(
            "admitting {} bytes again, a fresh instance for `admit` and one for `interpret`, one core",
            message.len()
        ),
        1.0 / samples.median().as_secs_f64(),
        Some(Goal::AtLeast(10_000.0)),
    )
}

/// Exports and verifies a ledger that `fill` fills, with the shipped binary, and
/// says how much memory that took at most.
pub(crate) fn large(entries: u64, fill: impl FnOnce(&Path, u64)) -> Report {
    let mut report = Report::new("Verification of a large log");
    report.say(&format!(
        "`cargo xtask bench verify-large={entries}`: the shipped command exports a ledger of {entries} entries and \
         verifies the bundle, each in a process of its own whose memory is watched.",
    ));
    let folder = tempfile::tempdir_in("target").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let at = |name: &str| folder.path().join(name);
    keyfile::create(&at("key"), &key()).unwrap();
    std::fs::write(
        at("countersign.toml"),
        "[identity]\nmode = \"open\"\n[store]\npath = \"ledger.db\"\nanchor = \"anchor\"\nkey = \"key\"\n\
         [[server]]\nname = \"bank\"\nurl = \"http://127.0.0.1:9/\"\n",
    )
    .unwrap();
    fill(folder.path(), entries / 2);
    let countersign = std::env::current_exe()
        .unwrap()
        .with_file_name("countersign");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&countersign);
        command
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped());
        peak(command.spawn().unwrap())
    };
    let export = [
        "audit",
        "export",
        "--config",
        "countersign.toml",
        "-o",
        "bundle.tar",
    ];
    let (took, kib, _) = run(&export);
    let size = std::fs::metadata(at("bundle.tar")).unwrap().len();
    let memory = |name: &str, kib: u64| {
        row(
            format!("{name}, memory at most, MiB"),
            (kib >> 10) as f64,
            Some(Goal::AtMost(200.0)),
        )
    };
    let time = |name: &str, took: Duration| row(format!("{name}, s"), took.as_secs_f64(), None);
    let mut rows = vec![time("exporting", took), memory("exporting", kib)];
    let trust = key().verifying_key().to_string();
    let (took, kib, said) = run(&["verify", "bundle.tar", "--trust", &trust]);
    rows.extend([time("verifying", took), memory("verifying", kib)]);
    rows.push(row("the bundle, MiB".into(), (size >> 20) as f64, None));
    println!("{}\n", said.lines().last().unwrap_or_default());
    report.table(["", "measured", "goal", "met"], &rows);
    report
}

/// How long a process ran, how much memory it held at most, and what it said.
fn peak(mut child: Child) -> (Duration, u64, String) {
    let began = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        most = kib.unwrap_or(0).max(most);
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = began.elapsed();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (
        took,
        most,
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}
