// What the extension takes for granted of pi, against the oldest and the newest version that it supports. A new pi that
// breaks one of these breaks the extension.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { packages, start, version } from "./harness.mjs";

// recorder is an extension that notifies of events; code runs inside of its function, where "pi" is.
const recorder = (code) => `export default function (pi) { ${code} }`;
const compaction = (summary) =>
	`{ compaction: { summary: ${JSON.stringify(summary)}, firstKeptEntryId: event.preparation.firstKeptEntryId, tokensBefore: event.preparation.tokensBefore, details: { engine: "test" } } }`;
const entries = (pi) => pi.session().filter((line) => line.type === "compaction");

async function twoTurns(t, folder, extensions, more = {}) {
	const pi = await start(t, folder, { extensions, reply: (_body, n) => ({ text: `answer ${n}` }), ...more });
	await pi.prompt("first question");
	await pi.prompt("second question");
	return pi;
}

for (const folder of packages) {
	describe(`pi ${version(folder)}`, { concurrency: 2 }, () => {
		test("P10: an exception of a handler is reported and ignored", async (t) => {
			const pi = await twoTurns(t, folder, [recorder(`pi.on("session_before_compact", () => { throw new Error("boom"); });`)]);
			const { success, data } = await pi.send("compact");
			assert.equal(success, true);
			assert.match(data.summary, /answer 3/); // pi's own model call
			assert.ok(pi.events.some((event) => event.type === "extension_error" && event.error.includes("boom")));
			assert.ok(!entries(pi)[0].fromHook);
		});

		test("P10: cancel stops, and no later handler is asked", async (t) => {
			const pi = await twoTurns(t, folder, [
				recorder(`pi.on("session_before_compact", () => ({ cancel: true }));`),
				recorder(`pi.on("session_before_compact", (event, ctx) => { ctx.ui.notify("asked"); return ${compaction("late")}; });`),
			]);
			assert.equal((await pi.send("compact")).success, false);
			assert.deepEqual(pi.notices(), []);
			assert.equal(entries(pi).length, 0);
			assert.equal(pi.requests.length, 2);
		});

		test("P10: the last answer wins, through exceptions and empty ones", async (t) => {
			const pi = await twoTurns(t, folder, [
				recorder(`pi.on("session_before_compact", () => { throw new Error("boom"); });`),
				recorder(`pi.on("session_before_compact", (event) => (${compaction("first")}));`),
				recorder(`pi.on("session_before_compact", (event) => (${compaction("second")}));`),
				recorder(`pi.on("session_before_compact", () => undefined);`),
			]);
			assert.equal((await pi.send("compact")).data.summary, "second");
			assert.equal(pi.requests.length, 2);
		});

		test("X24: the preparation has what is used here, and our result is adopted and marked", async (t) => {
			const pi = await twoTurns(t, folder, [
				recorder(`pi.on("session_before_compact", (event, ctx) => {
					ctx.ui.notify(JSON.stringify({ ...event, header: ctx.sessionManager.getHeader(), signal: event.signal instanceof AbortSignal }));
					return ${compaction("OURS")};
				});`),
			]);
			await pi.send("compact", { customInstructions: "the tests" });
			const event = JSON.parse(pi.notices()[0]);
			assert.equal(event.reason, "manual");
			assert.equal(event.customInstructions, "the tests");
			assert.equal(event.signal, true);
			assert.equal(event.header.type, "session");
			assert.equal(event.preparation.settings.keepRecentTokens, 3);
			assert.ok(event.preparation.tokensBefore > 0);
			const session = pi.session();
			const inFile = session.filter((line) => line.type !== "session" && line.type !== "compaction");
			assert.deepEqual(event.branchEntries, inFile, "the entries are those of the session file");
			assert.ok(inFile.some((line) => line.id === event.preparation.firstKeptEntryId));
			const [entry] = entries(pi);
			assert.equal(entry.fromHook, true);
			assert.equal(entry.summary, "OURS");
			assert.deepEqual(entry.details, { engine: "test" });
			await pi.prompt("third question");
			assert.ok(JSON.stringify(pi.requests.at(-1).messages).includes("OURS"));
		});

		test("X24: ctx.compact returns at once and calls back", async (t) => {
			const pi = await twoTurns(t, folder, [
				recorder(`
					pi.on("session_before_compact", (event) => (event.customInstructions === "fail" ? { cancel: true } : ${compaction("OURS")}));
					pi.registerCommand("go", { handler: async (args, ctx) => {
						let returned = false;
						const result = ctx.compact({
							customInstructions: args,
							onComplete: (result) => ctx.ui.notify("complete " + returned + " " + result.summary),
							onError: (error) => ctx.ui.notify("error " + returned + " " + error.message),
						});
						returned = true;
						ctx.ui.notify("returned " + typeof result);
					} });`),
			]);
			await pi.send("prompt", { message: "/go fail" });
			assert.match(await pi.notice("error"), /^error true /);
			await pi.send("prompt", { message: "/go well" });
			assert.equal(await pi.notice("complete"), "complete true OURS");
			assert.ok(pi.notices().includes("returned undefined"));
		});

		test("X24: the usage is unknown between a compaction and the next answer", async (t) => {
			const pi = await twoTurns(t, folder, [
				recorder(`
					pi.on("session_before_compact", (event) => (${compaction("OURS")}));
					pi.on("session_compact", (event, ctx) => { ctx.ui.notify("after " + JSON.stringify(ctx.getContextUsage().tokens)); });
					pi.on("agent_settled", (event, ctx) => { ctx.ui.notify("settled " + ctx.getContextUsage().tokens); });`),
			]);
			await pi.send("compact");
			await pi.prompt("third question");
			await pi.notice("after");
			assert.deepEqual(pi.notices(), ["settled 1010", "settled 1010", "after null", "settled 1010"]);
		});

		test("X24: the events come that are listened to", async (t) => {
			const events = ["session_start", "turn_end", "agent_settled", "model_select", "session_before_compact", "session_compact", "session_shutdown"];
			const pi = await start(t, folder, {
				extensions: [
					recorder(`
						const { appendFileSync } = process.getBuiltinModule("node:fs");
						for (const name of ${JSON.stringify(events)}) pi.on(name, (event, ctx) => {
							appendFileSync(process.env.HOME + "/events", name + " " + (event.model?.id ?? "") + " " + (event.previousModel?.id ?? "") + " " + (event.reason ?? "") + " " + (event.fromExtension ?? "") + "\\n");
						});
						pi.on("session_before_compact", (event) => (${compaction("OURS")}));`),
				],
			});
			await pi.prompt("first question");
			await pi.prompt("second question");
			await pi.send("set_model", { provider: "test", modelId: "two" });
			await pi.send("compact");
			await pi.close();
			assert.deepEqual(readFileSync(`${pi.home}/events`, "utf8").trim().split("\n").map((line) => line.trim()), [
				"session_start   startup",
				"turn_end",
				"agent_settled",
				"turn_end",
				"agent_settled",
				"model_select two one",
				"session_before_compact   manual",
				"session_compact   manual true",
				"session_shutdown   quit",
			]);
		});

		test("X24: a message reaches the model however it is delivered", async (t) => {
			const pi = await start(t, folder, {
				extensions: [
					recorder(`
						let n = 0;
						pi.on("agent_settled", () => {
							if (n++ === 0) pi.sendMessage({ customType: "t", content: "FOLLOW UP", display: true }, { deliverAs: "followUp", triggerTurn: true });
						});
						pi.on("tool_execution_end", () => {
							pi.sendMessage({ customType: "t", content: "STEER", display: true }, { deliverAs: "steer" });
							pi.sendMessage({ customType: "t", content: "NEXT TURN", display: true }, { deliverAs: "nextTurn" });
						});`),
				],
				reply: (_body, n) => (n === 1 ? { text: "a", calls: [{ name: "bash", args: { command: "true" } }] } : { text: "b" }),
			});
			await pi.prompt("first question");
			await pi.wait("agent_settled"); // of the run that FOLLOW UP began
			await pi.prompt("second question");
			const sent = pi.requests.map(({ messages }) => messages.filter(({ role }) => role === "user").map(({ content }) => content[0].text));
			assert.deepEqual(sent[1], ["first question", "STEER"]);
			assert.deepEqual(sent[2].slice(0, 3), ["first question", "STEER", "FOLLOW UP"]);
			// A newer pi takes the run that FOLLOW UP began for the next turn, an older one the person's.
			assert.deepEqual(sent[3].toSorted(), ["FOLLOW UP", "NEXT TURN", "STEER", "first question", "second question"]);
		});

		test("a thrown error of a tool is the tool's error, and a plain schema is taken", async (t) => {
			const pi = await start(t, folder, {
				extensions: [
					recorder(`pi.on("session_start", () => pi.registerTool({ name: "t", label: "T", description: "t", exposure: "model-only",
						parameters: { type: "object", properties: { instructions: { type: "string", description: "d" } } },
						execute: async (id, { instructions }) => { throw new Error("refused: " + instructions); } }));`),
				],
				reply: (_body, n) => (n === 1 ? { calls: [{ name: "t", args: { instructions: "x" } }] } : { text: "b" }),
			});
			await pi.prompt("first question");
			const declared = pi.requests[0].tools.find((tool) => tool.function.name === "t").function.parameters;
			assert.deepEqual(declared.properties, { instructions: { type: "string", description: "d" } });
			const { message } = pi.session().find((line) => line.message?.role === "toolResult");
			assert.equal(message.isError, true);
			assert.equal(message.content[0].text, "refused: x");
		});
	});
}
