// One released component under jco.
//
// A gateway takes a fresh instance for every call, and so does the Python
// host. Here an instance answers several calls before the next one is made:
// a profile is a function of its arguments, so what ran before must not show.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const INTERFACE = "countersign:admission/profile@1.0.0";

// An instance is let go of after so many calls, or bytes given to it.
const CALLS = 32;
const BYTES = 65_536;

/** Transpiles the component at `file` into `folder`; gives a function that calls it. */
export async function load(file, folder, transpile) {
  const name = path.basename(file, ".wasm");
  const { files, imports } = await transpile(readFileSync(file), {
    name,
    instantiation: "sync",
    noTypescript: true,
    noNodejsCompat: true,
  });
  if (imports.length > 0) throw new Error(`${name} imports ${imports.join(", ")}`);
  const target = path.join(folder, name);
  const modules = new Map();
  for (const [relative, bytes] of Object.entries(files)) {
    const at = path.join(target, relative);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, bytes);
    if (relative.endsWith(".wasm")) modules.set(relative, new WebAssembly.Module(bytes));
  }
  writeFileSync(path.join(target, "package.json"), '{"type":"module"}\n');
  const { instantiate } = await import(pathToFileURL(path.join(target, `${name}.js`)));
  const fresh = () =>
    instantiate(
      (core) => modules.get(core),
      {},
      (module, wanted) => new WebAssembly.Instance(module, wanted),
    )[INTERFACE];
  let instance;
  let calls = CALLS;
  let bytes = 0;
  return (method, ...given) => {
    bytes += given[0]?.length ?? 0;
    if (calls >= CALLS || bytes > BYTES) {
      instance = fresh();
      calls = 0;
      bytes = given[0]?.length ?? 0;
    }
    calls += 1;
    return instance[method](...given);
  };
}

/** What a function that gives a `result` answered: jco throws its error. */
export function answered(call, method, ...given) {
  try {
    return { ok: call(method, ...given) };
  } catch (error) {
    if (error?.payload === undefined) throw error;
    return { err: error.payload };
  }
}
