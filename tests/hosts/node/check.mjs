// Compares what the components answer with vectors/, field by field.
//
// Byte recipes and the form of an outcome are read as vectors/README.md says;
// nothing but JSON, base64 and SHA-256 is needed for it.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";

import { answered, load } from "./host.mjs";

const PROFILES = ["exact@1.0.0", "jcs-integer@1.0.0"];
const LONG = 1024;
const utf8 = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return `sha256:${hash.digest("hex")}`;
};

const binding = (profile, action) =>
  sha256(`countersign.action-binding.v1\n${profile}\n`, action);

/** The bytes of a message or an action. */
function bytesOf(from, name) {
  if (name in from) return utf8.encode(from[name]);
  if (`${name}_base64` in from) return new Uint8Array(Buffer.from(from[`${name}_base64`], "base64"));
  const parts = from[`${name}_parts`].map((part) => {
    if (typeof part === "string") return Buffer.from(part);
    if ("repeat" in part) return Buffer.from(part.repeat.repeat(part.times));
    if ("base64" in part) return Buffer.from(part.base64, "base64");
    const [before, after] = part.numbered;
    return Buffer.from(Array.from({ length: part.times }, (_, n) => before + n + after).join(""));
  });
  return new Uint8Array(Buffer.concat(parts));
}

/** Canonical bytes or a text, as a vector gives them. */
function text(data) {
  if (data === undefined || data === null) return null;
  const bytes = typeof data === "string" ? utf8.encode(data) : data;
  if (bytes.length > LONG) return { sha256: sha256(bytes), bytes: bytes.length };
  return strict.decode(bytes);
}

const refused = ({ code, offset, pointer }) => ({ refused: { code, offset, pointer } });

const idOf = (id) => (id.tag === "number" ? { number: Number(id.val) } : { text: id.val });

/** What `admit` answered, as a vector gives it, and the action. */
function outcome(profile, answer) {
  if ("err" in answer) return [refused(answer.err), null];
  const { tag, val } = answer.ok;
  if (tag === "call") {
    const call = {
      id: idOf(val.id),
      action: text(val.action),
      execution_id: val.executionId ?? null,
      workflow_id: val.workflowId ?? null,
      client: text(val.client),
      continuation: val.continuation
        ? {
            canonical: text(val.continuation.canonical),
            request_state: val.continuation.requestState ?? null,
          }
        : null,
      transport: text(val.transport),
      binding: binding(profile, val.action),
    };
    return [{ call }, val.action];
  }
  if (tag === "request") {
    return [{ request: { id: idOf(val.id), method: val.method, params: text(val.params) } }, null];
  }
  if (tag === "notification") {
    return [{ notification: { method: val.method, params: text(val.params) } }, null];
  }
  return [{ reply: { id: idOf(val.id), [val.answer.tag]: text(val.answer.val) } }, null];
}

function node({ name, value: { tag, val } }) {
  const made = name === undefined ? { kind: tag } : { name, kind: tag };
  if (tag === "integer") made.value = String(val);
  else if (tag === "text") made.value = text(val);
  else if (tag !== "null") made.value = val;
  return made;
}

/** What `interpret` answered, as a vector gives it. */
function view(answer) {
  if ("err" in answer) return refused(answer.err);
  const found = answer.ok;
  const nodes = found.view.length > LONG ? { count: found.view.length } : found.view.map(node);
  return { view: { binding: found.binding, tool: found.tool, nodes } };
}

const expected = (from, profile) => from.expect["*"] ?? from.expect[profile];

function* admit(profile, call, vector) {
  const [found, action] = outcome(profile, answered(call, "admit", bytesOf(vector, "message")));
  yield [expected(vector, profile), found];
  if (action !== null) {
    const again = view(answered(call, "interpret", action));
    yield [binding(profile, action), again.view?.binding ?? again];
  }
}

function* interpret(profile, call, vector) {
  yield [expected(vector, profile), view(answered(call, "interpret", bytesOf(vector, "action")))];
}

const tagged = (value) => {
  if (typeof value === "string") return { tag: value };
  const [[tag, val]] = Object.entries(value);
  return { tag, val: val ?? undefined };
};

function* classify(_profile, call, { presented, recorded, expect }) {
  const answer = call(
    "classify",
    {
      ...presented,
      round: presented.round
        ? {
            continuation: presented.round.continuation,
            requestState: presented.round.request_state ?? undefined,
          }
        : undefined,
    },
    recorded ? { ...recorded, state: tagged(recorded.state) } : undefined,
  );
  let found = answer.tag;
  if (answer.tag === "replay") found = { replay: answer.val };
  if (answer.tag === "collision") {
    found = { collision: ["binding", "target"].filter((name) => answer.val[name]) };
  }
  yield [expect, found];
}

function* equivalence(profile, call, vector) {
  const found = {};
  for (const name of ["a", "b"]) {
    const [got] = outcome(profile, answered(call, "admit", bytesOf(vector[name], "message")));
    found[name] = "refused" in got ? got : { binding: got.call.binding };
    yield [expected(vector[name], profile), found[name]];
    const { admit: must } = vector[name];
    if (must === "must") yield [true, "binding" in found[name] || found[name].refused.code === "number"];
    if (must === "must-not") yield [true, "refused" in found[name]];
  }
  if ("binding" in found.a && "binding" in found.b) {
    yield [vector.relation === "must-bind-equal", found.a.binding === found.b.binding];
  }
}

function* describe(profile, call, vector) {
  if (vector.name !== profile) return;
  const found = call("describe");
  yield [profile, found.id];
  yield [
    vector.limits,
    {
      message_bytes: found.limits.messageBytes,
      depth: found.limits.depth,
      number_bytes: found.limits.numberBytes,
      nodes: found.limits.nodes,
    },
  ];
  const answers = found.vectors.map((each) => each.answer);
  yield [true, answers.length >= 2 && answers.length <= 64];
  yield [true, answers.some(({ tag }) => tag === "err")];
  yield [true, answers.some(({ tag, val }) => tag === "ok" && val)];
  for (const { message, answer } of found.vectors) {
    const [got, action] = outcome(profile, answered(call, "admit", message));
    if (answer.tag === "err") yield [refused(answer.val), got];
    else if (answer.val) {
      yield [Buffer.from(answer.val.action), action && Buffer.from(action)];
      yield [answer.val.binding, got.call?.binding];
    } else yield [true, action === null && !("refused" in got)];
  }
}

const KINDS = { admit, interpret, classify, equivalence, describe };

/** Runs every vector that a component answers, under each released profile. */
export async function run(root, components, transpile) {
  let passed = 0;
  let failed = 0;
  const folder = path.join(root, "vectors");
  const files = readdirSync(folder).filter((name) => name.endsWith(".json")).sort();
  for (const profile of PROFILES) {
    const call = await load(path.join(root, "guest", "released", `${profile}.wasm`), components, transpile);
    for (const name of files) {
      const { kind, cases } = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
      const check = KINDS[kind];
      for (const vector of check ? cases : []) {
        const wrong = [...check(profile, call, vector)].filter(([want, got]) => !isDeepStrictEqual(want, got));
        if (wrong.length === 0) passed += 1;
        else failed += 1;
        for (const [want, got] of wrong) {
          console.log(
            `${profile}: ${name}: ${vector.name ?? vector.id}: expected ${JSON.stringify(want)}, found ${JSON.stringify(got)}`,
          );
        }
      }
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}
