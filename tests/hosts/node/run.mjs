#!/usr/bin/env node
// Runs vectors/ in the released components under Node, through jco.
//
// Installs what package-lock.json names under target/ (once for each lock),
// transpiles the components there, then compares. `host.mjs` talks to a
// component and `check.mjs` compares; this file only prepares.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../../..");
const installed = path.join(root, "target", "hosts", "node");

/** Installs the locked packages, unless this very lock has been installed. */
function prepare() {
  const lock = readFileSync(path.join(here, "package-lock.json"), "utf8");
  const done = path.join(installed, "node_modules", ".countersign-lock");
  if (existsSync(done) && readFileSync(done, "utf8") === lock) return;
  console.log(`installing jco into ${path.relative(root, installed)}`);
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    copyFileSync(path.join(here, name), path.join(installed, name));
  }
  execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: installed,
    stdio: "inherit",
  });
  // Written last: an interrupted installation is begun again.
  copyFileSync(path.join(here, "package-lock.json"), done);
}

prepare();
const require = createRequire(path.join(installed, "package.json"));
const jco = await import(pathToFileURL(require.resolve("@bytecodealliance/jco")));
const { run } = await import("./check.mjs");
process.exitCode = await run(root, path.join(installed, "components"), jco.transpile);
