//! The chapters of the demo, and what each one shows.
//!
//! Each chapter checks what it tells: the code of the gateway's answer and the
//! number of payments in the journal.

use std::{fs, thread};

use serde_json::Value;

use crate::{
    chore::{Failure, Outcome},
    demo::{
        http::Call,
        page,
        stage::{PATH, Stage},
    },
    workspace,
};

/// How long the slow tool waits before it answers, in milliseconds: long enough
/// to be killed in, whatever the machine.
const SLOW_MS: u32 = 20_000;

/// Tells every chapter.
pub(crate) fn tell(stage: &mut Stage) -> Outcome {
    println!(
        "\nEverything runs on this machine; the files are in {}.",
        stage.file("").display()
    );
    println!("The gateway answers at http://{}{PATH}.", stage.address());
    a_call(stage)?;
    its_retry(stage)?;
    a_mutation(stage)?;
    two_spellings(stage)?;
    a_denial(stage)?;
    a_kill(stage)?;
    an_export(stage)?;
    a_verification(stage)
}

fn a_call(stage: &Stage) -> Outcome {
    page::chapter(1, "A call");
    page::say(
        "An agent pays 250 from alice to bob, and names this one payment: execution_id invoice-7.",
    );
    perform(stage, &pay("invoice-7", "250"), "ok", 1)?;
    page::say(
        "Before the ledger server saw a byte, the gateway had stored durably that invoice-7 means \
         exactly this action (the binding is a digest of its canonical bytes). The outcome was \
         stored, with its entry in the evidence log, before the agent saw the answer. The receipt \
         says where.",
    );
    Ok(())
}

fn its_retry(stage: &Stage) -> Outcome {
    page::chapter(2, "Its retry");
    page::say("The answer got lost, says the agent, and sends the same call again.");
    perform(stage, &pay("invoice-7", "250"), "replay", 1)?;
    page::say(
        "A replay: the gateway knows this execution and its outcome, says so, and calls nobody. \
         Without an execution id this would have been a second payment.",
    );
    Ok(())
}

fn a_mutation(stage: &Stage) -> Outcome {
    page::chapter(3, "A mutated retry");
    page::say("The same execution id, but the amount has changed by one.");
    perform(stage, &pay("invoice-7", "251"), "collision", 1)?;
    page::say(
        "A collision: invoice-7 is taken by another action. It is neither answered with the first \
         payment's outcome nor carried out.",
    );
    Ok(())
}

fn two_spellings(stage: &Stage) -> Outcome {
    page::chapter(4, "1 against 1.0");
    page::say("One number, spelled in two ways, under one execution id.");
    perform(stage, &pay("invoice-8", "1"), "ok", 2)?;
    perform(stage, &pay("invoice-8", "1.0"), "collision", 2)?;
    page::say(
        "Servers tell 1 and 1.0 apart, or do not, each in its own way. So the profile exact keeps \
         every number as it was written, and they are two actions. The profile jcs-integer refuses \
         1.0 instead. Either way nobody has to guess what a server would have made of it.",
    );
    Ok(())
}

fn a_denial(stage: &Stage) -> Outcome {
    page::chapter(5, "A denial");
    page::say("The demo's policies forbid payments over 1000, in whatever spelling.");
    perform(stage, &pay("invoice-9", "5000"), "policy-denied", 2)?;
    perform(stage, &pay("invoice-9", "5e3"), "policy-denied", 2)?;
    perform(stage, &pay("invoice-9", "900"), "ok", 3)?;
    page::say(
        "A denial is recorded and reserves nothing: invoice-9 was still free for a payment that is \
         allowed. The policy sees what the digest covers and what the server gets, not a second \
         reading of the same bytes.",
    );
    Ok(())
}

fn a_kill(stage: &mut Stage) -> Outcome {
    page::chapter(6, "kill -9 in the middle of a call");
    page::say(
        "The slow tool pays at once and answers late. In between the gateway is killed, and started \
         again on the same store.",
    );
    let call = Call {
        tool: "transfer_slowly",
        arguments: format!(r#"{{"from":"alice","to":"bob","amount":75,"delay_ms":{SLOW_MS}}}"#),
        execution_id: "invoice-10".to_owned(),
    };
    page::sent(&call);
    let (address, sent) = (stage.address(), call.clone());
    let waiting = thread::spawn(move || sent.send(address, PATH).map(drop).map_err(|_| ()));
    stage.wait_for_effects(4)?;
    stage.kill_gateway_and_restart()?;
    let answer = waiting
        .join()
        .map_err(|_| Failure::new("the slow call panicked"))?;
    if answer.is_ok() {
        return Err(Failure::new(
            "the slow call was answered although the gateway was killed",
        ));
    }
    println!("   ✗ kill -9, and the gateway starts again: the agent's connection broke");
    page::effects(stage.effects());
    page::say("The agent knows nothing, and asks again.");
    perform(stage, &call, "blocked", 4)?;
    page::say(
        "Blocked: a reservation of a gateway that is gone, and nobody knows whether a byte had left \
         (here it had). Countersign does not guess and does not call again. The identifier stays \
         taken until an operator has looked at the ledger server and said what happened.",
    );
    Ok(())
}

fn an_export(stage: &Stage) -> Outcome {
    page::chapter(7, "An export");
    page::say(
        "Everything that was decided, refusals too, in one file for somebody else; the gateway \
         goes on meanwhile.",
    );
    let export = [
        "audit",
        "export",
        "--config",
        "countersign.toml",
        "--output",
        "bundle.tar",
    ];
    perform_command(stage, &export)
}

fn a_verification(stage: &Stage) -> Outcome {
    page::chapter(8, "An offline verification");
    page::say(
        "Somebody else checks the file with no network, no store and no trust in the operator: \
         they know the log's key and which policies were approved, and hold the first request.",
    );
    fs::write(
        stage.file("request.json"),
        pay("invoice-7", "250").message(),
    )?;
    let policies = workspace::root().join("policies/demo");
    let policies = policies.display().to_string();
    let verify = [
        "verify",
        "bundle.tar",
        "--request",
        "request.json",
        "--trust",
        stage.key(),
    ];
    perform_command(stage, &[&verify[..], &["--policies", &policies]].concat())?;
    page::say(
        "The very WebAssembly component that the gateway ran was run again over the request, and \
         gave the same binding; each attempt was classified again from what the log says came \
         before it. What a verifier cannot know is not claimed: no entry proves that money moved.",
    );
    Ok(())
}

/// Tells how to go on with a client of one's own.
pub(crate) fn hand_over(stage: &Stage) {
    page::chapter(9, "Your turn");
    page::say("The gateway keeps running. In another terminal, a payment of your own:");
    page::quote(&curl(stage, &pay("invoice-11", "10")));
    page::say("Send it twice; then change the amount. Count the payments with");
    page::quote(&format!("wc -l < {}", stage.file("journal").display()));
    page::say("Any MCP client that speaks Streamable HTTP can connect to");
    page::quote(&format!("http://{}{PATH}", stage.address()));
    page::say("Press Ctrl-C to end the gateway and the ledger server.");
}

fn pay(execution_id: &str, amount: &str) -> Call {
    Call {
        tool: "transfer",
        arguments: format!(r#"{{"from":"alice","to":"bob","amount":{amount}}}"#),
        execution_id: execution_id.to_owned(),
    }
}

/// Sends a call, shows it and its answer, and checks both answer and journal.
fn perform(stage: &Stage, call: &Call, verdict: &str, effects: usize) -> Outcome {
    page::sent(call);
    let answer = stage.call(call)?;
    page::answered(&answer);
    let counted = stage.effects();
    page::effects(counted);
    let told = told(&answer);
    if told != verdict {
        return Err(Failure::new(format!(
            "this should have been `{verdict}`, not `{told}`: {answer}"
        )));
    }
    if counted != effects {
        return Err(Failure::new(format!(
            "there should have been {effects} payments by now"
        )));
    }
    Ok(())
}

/// What an answer came to: `ok`, or its code.
fn told(answer: &Value) -> &str {
    if answer.pointer("/result/isError") == Some(&Value::Bool(true)) {
        return "tool-error";
    }
    if answer.get("result").is_some() {
        return "ok";
    }
    answer
        .pointer("/error/data/code")
        .and_then(Value::as_str)
        .unwrap_or("an error without a code")
}

/// Runs a command of the gateway's, shows it with its output, and checks that
/// it succeeded.
fn perform_command(stage: &Stage, arguments: &[&str]) -> Outcome {
    println!("   $ countersign {}\n", arguments.join(" "));
    let done = stage.countersign(arguments)?;
    for output in [&done.stdout, &done.stderr] {
        let output = String::from_utf8_lossy(output);
        if !output.trim().is_empty() {
            page::quote(&output);
        }
    }
    if done.status.success() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "that should have succeeded: {}",
        done.status
    )))
}

/// The call as a line for a shell.
fn curl(stage: &Stage, call: &Call) -> String {
    let headers = call
        .headers()
        .map(|header| format!("  -H '{header}' \\\n"))
        .concat();
    format!(
        "curl -s http://{}{PATH} \\\n{headers}  -d '{}'",
        stage.address(),
        call.message()
    )
}
