#!/usr/bin/env node
// Stands in for "pemmican agent --stdio" in tests. FAKE_SCRIPT, JSON, says for each event what to answer; FAKE_LOG is a
// file that gets every line that came in. Beside the members of an answer a script may have
//   ask: the ask to send first; what the model said takes the place of "$reply" in the answer, and the reply is logged
//   unasked: a line to send behind the answer
//   say: "garbage", "silence" or "die" as the whole answer

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const script = JSON.parse(process.env.FAKE_SCRIPT ?? "{}");
const log = (line) => process.env.FAKE_LOG && appendFileSync(process.env.FAKE_LOG, `${JSON.stringify(line)}\n`);
const send = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const replies = new Map();

if (script.start === "die") {
	console.error('Error: unknown command "agent"');
	process.exit(1);
}
log({ started: process.argv.slice(2) });

createInterface({ input: process.stdin }).on("line", async (text) => {
	const line = JSON.parse(text);
	log(line);
	if (line.reply) return replies.get(line.reply.n)?.(line.reply);
	if (!line.event) return;
	let answer = script[line.event] ?? (line.event === "hello" ? { protocol: 1 } : {});
	if (Array.isArray(answer)) {
		// One answer after the other, over restarts too.
		const before = existsSync(process.env.FAKE_LOG) ? readFileSync(process.env.FAKE_LOG, "utf8") : "";
		const times = before.split(`"event":"${line.event}"`).length - 2;
		answer = answer[Math.min(times, answer.length - 1)];
	}
	if (answer === "silence") return;
	if (answer === "die") process.exit(3);
	if (answer === "garbage") {
		process.stdout.write('not JSON at all\n[1,2]\nnull\n{"id":\n');
		answer = {};
	}
	const { ask, unasked, ...rest } = answer;
	let said = "";
	if (ask) {
		const reply = new Promise((resolve) => replies.set(ask.n, resolve));
		send({ ask: { ...ask, compact: line.id } });
		said = (await reply).text;
	}
	send({ ...JSON.parse(JSON.stringify(rest), (_, v) => (v === "$reply" ? said : v === "$kept" ? kept(line) : v)), id: line.id });
	if (unasked) send(unasked);
});

// kept is the id of the last message of a person: everything before it is to go.
function kept(line) {
	return line.entries.findLast((entry) => entry.type === "message" && entry.message.role === "user").id;
}
