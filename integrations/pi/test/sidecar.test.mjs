// The process beside pi by itself: what it may do wrong.

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { findProgram, Sidecar } from "../src/sidecar.ts";
import { fake, folder } from "./harness.mjs";

const short = { hello: 10_000, answer: 10_000, beat: 10_000, restarts: [1, 1], end: 300 };
const whole = { name: "x", label: "x", description: "x", instructions: "x" };
const program = (t, ...lines) => {
	const file = join(folder(t), "program");
	writeFileSync(file, `#!/bin/sh\n${lines.join("\n")}\n`);
	chmodSync(file, 0o755);
	return file;
};
const noShell = { skip: process.platform === "win32" && "there are no shell scripts" };

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
	const s = await begin(t, { hello: { protocol: 1, tool: whole }, tool: { text: "line \u2028 separator é" } });
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
	await assert.rejects(sidecar.send({ event: "tool" }), /not in PATH and ~\/go\/bin: run go install/);
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

test("silent at hello: started again, then given up", async (t) => {
	const s = await begin(t, { hello: "silence" }, { ...short, hello: 300 });
	assert.deepEqual(s.told.gone, [], "the session begins meanwhile");
	assert.match(await s.gone, /has ended 3 times \(no answer within 0.3 s\): restart pi/);
	assert.deepEqual(s.told.ready, []);
});

test("silent later: ended, and the next process answers", async (t) => {
	const s = await begin(t, { compact: "silence", tool: { text: "yes" } });
	await assert.rejects(s.sidecar.send({ event: "compact" }, { wait: 300 }), /no answer within 0.3 s/);
	await assert.rejects(s.sidecar.send({ event: "tool" }), /is being started again/);
	assert.equal(await s.sidecar.back(10_000), true);
	assert.equal((await s.sidecar.send({ event: "tool" })).text, "yes");
	assert.equal(s.told.ready.length, 2);
});

test("silent while a model is asked: the compaction fails at once, and the model is called off", async (t) => {
	const s = await begin(t, { compact: { ask: { n: 7, model: "a/b", mode: "cross" } }, status: [{}, "silence"] }, { ...short, beat: 50 });
	let called;
	const ask = (_ask, signal) => {
		called = signal;
		return new Promise(() => {});
	};
	await assert.rejects(s.sidecar.send({ event: "compact" }, { ask }), /no answer within 0.05 s/);
	assert.equal(called.aborted, true);
	assert.equal(s.events("status").length, 2);
	assert.equal(await s.sidecar.back(10_000), true);
});

for (const [what, line] of Object.entries({
	compaction: { compaction: { summary: 5, firstKeptEntryId: "a", tokensBefore: 1 } },
	"another compaction": { compaction: {} },
	say: { say: { text: 5 } },
	notices: { notices: 5 },
	"an unasked say": { unasked: { say: 5 } },
	tool: { tool: {} },
})) {
	test(`what has another shape comes from no Pemmican: ${what}`, async (t) => {
		const s = await begin(t, { compact: line });
		await Promise.allSettled([s.sidecar.send({ event: "compact" }), s.sidecar.send({ event: "compact" })]);
		while (s.told.ready.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
		assert.deepEqual(s.told.unasked, []);
	});
}

test("broken right behind its hello: it is not there", async (t) => {
	const s = await begin(t, { hello: { protocol: 1, unasked: { say: 5 } } });
	assert.match(await s.gone, /has ended 3 times \(its "say" cannot be read\)/);
	assert.equal(s.sidecar.there, false);
});

test("its end is not waited for where a process of its own holds its pipes", noShell, async (t) => {
	const file = program(t, "sleep 20 &", `echo '{"id":1,"protocol":1}'`, "read a", "read b", "exit 0");
	const client = { hello: () => ({ event: "hello" }), ready() {}, unasked() {}, gone() {} };
	const sidecar = new Sidecar(client, { ...process.env, PEMMICAN_BIN: file }, short);
	await sidecar.start();
	const late = setTimeout(() => assert.fail("it is waited for"), 10_000);
	await sidecar.end();
	clearTimeout(late);
});

test("a model that takes its time is waited for", async (t) => {
	const s = await begin(t, { compact: { ask: { n: 7, model: "a/b", mode: "cross" }, text: "$reply" } }, { ...short, beat: 1e9 });
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
		if (i < 3) await assert.rejects(s.sidecar.send({ event: "tool" }), /being started again/);
	}
	assert.match(await s.gone, /has ended 3 times .*restart pi, and if it ends again, run go install/);
	await assert.rejects(s.sidecar.send({ event: "tool" }), /has ended 3 times .*restart pi/);
	assert.equal(await s.sidecar.back(10_000), false);
	assert.equal(s.told.gone.length, 1);
	assert.equal(s.told.ready.length, 3);
});

test("it does not end by itself: killed", noShell, async (t) => {
	const left = join(folder(t), "left");
	const file = program(t, "trap '' TERM", `echo '{"id":1,"protocol":1}'`, "while :; do read line || sleep 1; done", `echo >${left}`);
	const client = { hello: () => ({ event: "hello" }), ready() {}, unasked() {}, gone() {} };
	const sidecar = new Sidecar(client, { ...process.env, PEMMICAN_BIN: file }, short);
	await sidecar.start();
	await sidecar.end();
	assert.ok(!existsSync(left));
});
