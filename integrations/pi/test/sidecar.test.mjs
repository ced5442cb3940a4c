// The process beside pi by itself: what it may do wrong.

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { findProgram, Sidecar } from "../src/sidecar.ts";
import { fake, folder } from "./harness.mjs";

const short = { hello: 10_000, answer: 10_000, restarts: [1, 1], end: 300 };

// begin starts the fake with a script, and records what the client is told.
async function begin(t, script, waits = short) {
	const f = fake(t, script);
	const told = { ready: [], unasked: [], gone: [] };
	const { promise: gone, resolve } = Promise.withResolvers();
	const sidecar = new Sidecar(
		{
			hello: () => ({ event: "hello", protocol: 1 }),
			ready: (line) => told.ready.push(line),
			unasked: (line) => told.unasked.push(line),
			gone: (text) => {
				told.gone.push(text);
				resolve(text);
			},
		},
		{ ...process.env, ...f.env },
		waits,
	);
	t.after(() => sidecar.end());
	await sidecar.start();
	return { ...f, sidecar, told, gone };
}

test("hello, an answer, the end", async (t) => {
	const s = await begin(t, { hello: { protocol: 1, tool: { name: "x" } }, tool: { text: "line \u2028 separator é" } });
	assert.equal(s.told.ready[0].tool.name, "x");
	assert.equal((await s.sidecar.send({ event: "tool" })).text, "line \u2028 separator é");
	await s.sidecar.end();
	assert.equal(s.events("end").length, 1);
	await assert.rejects(s.sidecar.send({ event: "tool" }), /does not run/);
	assert.deepEqual(s.told.gone, []);
});

test("a large event arrives whole", async (t) => {
	const s = await begin(t, {});
	await s.sidecar.send({ event: "compact", entries: ["é".repeat(5_000_000)] });
	assert.equal(s.events("compact")[0].entries[0].length, 5_000_000);
});

test("not installed: one notice that names the mend", async (t) => {
	const gone = [];
	const client = { hello: () => ({ event: "hello" }), ready() {}, unasked() {}, gone: (text) => gone.push(text) };
	const home = folder(t);
	const sidecar = new Sidecar(client, { HOME: home, PATH: home });
	await sidecar.start();
	assert.equal(gone.length, 1);
	assert.match(gone[0], /not in PATH and ~\/go\/bin: run go install .*PEMMICAN_BIN.*pi compacts by itself/);
	await assert.rejects(sidecar.send({ event: "tool" }), /does not run/);
	await new Sidecar(client, { HOME: home, PEMMICAN_BIN: join(home, "nowhere") }).start();
	assert.match(gone[1], /not in PEMMICAN_BIN \(.*nowhere\)/);
});

test("where the program is looked for", (t) => {
	const home = folder(t);
	const put = (...path) => {
		const file = join(home, ...path);
		mkdirSync(join(file, ".."), { recursive: true });
		writeFileSync(file, "");
		chmodSync(file, 0o755);
		return file;
	};
	const env = { HOME: home, PATH: [join(home, "a"), "relative", join(home, "b")].join(delimiter) };
	const inGo = put("go", "bin", "pemmican");
	assert.equal(findProgram(env), inGo);
	const inPath = put("b", "pemmican");
	assert.equal(findProgram(env), inPath);
	const named = put("elsewhere");
	assert.equal(findProgram({ ...env, PEMMICAN_BIN: named }), named);
	chmodSync(named, 0o644);
	assert.equal(findProgram({ ...env, PEMMICAN_BIN: named }), undefined);
	const inGoPath = put("gopath", "bin", "pemmican");
	assert.equal(findProgram({ HOME: home, PATH: "", GOPATH: join(home, "gopath") }), inGoPath);
});

test("too old: the command is not known, or the protocol is", async (t) => {
	const unknown = await begin(t, { start: "die" });
	assert.equal(unknown.told.gone.length, 1);
	assert.match(unknown.told.gone[0], /does not start \(it ended with 1: Error: unknown command "agent"\): run go install/);
	const old = await begin(t, { hello: { protocol: 0 } });
	assert.match(old.told.gone[0], /too old for this extension: run go install/);
	const newer = await begin(t, { hello: { protocol: 2 } });
	assert.match(newer.told.gone[0], /too new for this extension: run pi update --extensions/);
	assert.deepEqual([...old.told.ready, ...newer.told.ready], []);
});

test("silent at hello: given up, and the process does not stay", async (t) => {
	const s = await begin(t, { hello: "silence" }, { ...short, hello: 300 });
	assert.match(s.told.gone[0], /does not answer \(no answer within 0.3 s\): run pemmican doctor/);
});

test("silent later: that event fails, is called off, and the next one is answered", async (t) => {
	const s = await begin(t, { compact: "silence", tool: { text: "yes" } });
	await assert.rejects(s.sidecar.send({ event: "compact" }, { wait: 300 }), /no answer within 0.3 s/);
	assert.equal((await s.sidecar.send({ event: "tool" })).text, "yes");
	assert.equal(s.lines().find((line) => line.cancel).cancel, s.events("compact")[0].id);
});

test("a model that takes its time is waited for", async (t) => {
	const s = await begin(t, { compact: { ask: { n: 7, model: "a/b", mode: "cross" }, text: "$reply" } });
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const ask = async ({ model }) => {
		for (let i = 0; i < 10; i++) t.mock.timers.tick(short.answer);
		return { text: `${model} says so` };
	};
	const line = await s.sidecar.send({ event: "compact" }, { ask });
	assert.equal(line.text, "a/b says so");
});

test("what goes wrong with a model is told", async (t) => {
	const s = await begin(t, { compact: { ask: { n: 7, model: "a/b", mode: "cross" } } });
	await s.sidecar.send({ event: "compact" }, { ask: () => Promise.reject(new Error("no route")) });
	assert.deepEqual(s.lines().find((line) => line.reply).reply, { n: 7, text: "", stop: "error", error: "no route" });
});

test("called off: the sidecar hears of it, and a late answer goes nowhere", async (t) => {
	const s = await begin(t, { compact: "silence" });
	const controller = new AbortController();
	const sent = s.sidecar.send({ event: "compact" }, { signal: controller.signal });
	controller.abort();
	await assert.rejects(sent, /called off/);
	await assert.rejects(s.sidecar.send({ event: "tool" }, { signal: controller.signal }), /called off/);
	await s.sidecar.send({ event: "usage" });
	assert.equal(s.lines().filter((line) => line.cancel).length, 1);
	assert.equal(s.events("tool").length, 0);
});

test("garbage between the lines is passed over", async (t) => {
	const s = await begin(t, { settled: "garbage", tool: { text: "yes", unasked: { notices: [{ level: "info", text: "hi" }] } } });
	await s.sidecar.send({ event: "settled" });
	assert.equal((await s.sidecar.send({ event: "tool" })).text, "yes");
	await s.sidecar.send({ event: "usage" });
	assert.deepEqual(s.told.unasked, [{ notices: [{ level: "info", text: "hi" }] }]);
});

test("it dies: started again a few times, then given up with one notice", async (t) => {
	const s = await begin(t, { compact: "die" });
	for (let i = 1; i <= 3; i++) {
		while (s.told.ready.length < i) await new Promise((resolve) => setTimeout(resolve, 5));
		await assert.rejects(s.sidecar.send({ event: "compact" }), /has ended \(it ended with 3\)/);
		if (i < 3) await assert.rejects(s.sidecar.send({ event: "tool" }), /does not run/);
	}
	assert.match(await s.gone, /has ended 3 times .*run pemmican doctor/);
	assert.equal(s.told.gone.length, 1);
	assert.equal(s.told.ready.length, 3);
});

test("it does not end by itself: killed", { skip: process.platform === "win32" && "there are no shell scripts" }, async (t) => {
	const dir = folder(t);
	const program = join(dir, "stubborn");
	const left = join(dir, "left");
	writeFileSync(program, `#!/bin/sh\ntrap '' TERM\necho '{"id":1,"protocol":1}'\nwhile :; do read line || sleep 1; done\necho >${left}\n`);
	chmodSync(program, 0o755);
	const client = { hello: () => ({ event: "hello" }), ready() {}, unasked() {}, gone() {} };
	const sidecar = new Sidecar(client, { ...process.env, PEMMICAN_BIN: program }, short);
	await sidecar.start();
	await sidecar.end();
	assert.ok(!existsSync(left));
});
