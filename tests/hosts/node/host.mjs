// One released component under jco, a fresh instance for every call.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const INTERFACE = "countersign:admission/profile@1.0.0";

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
  return (method, ...given) => {
    const instance = instantiate(
      (core) => modules.get(core),
      {},
      (module, wanted) => new WebAssembly.Instance(module, wanted),
    );
    return instance[INTERFACE][method](...given);
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
