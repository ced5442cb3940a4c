// Measures what pi does before it calls a model to compact a session: it loads the file, prepares the compaction (context,
// cut, messages to summarise, lists of files), and serialises those messages to text. Only public exports of the package
// @earendil-works/pi-coding-agent are used. The preparation is pi's own: session.compact() runs up to the event
// session_before_compact, which hands it over and is where the run is cancelled.
//
//	node bench.mjs PACKAGE-FOLDER SESSION ROUNDS
//
// Prints one JSON object: ms since the start of the process when pi was imported, when it was ready, and at the end; and for
// each round the ms of each step, with the ms of CPU for all three. The first rounds are slower: V8 compiles what it runs
// often. The session is copied first, for pi rewrites a file of version 1 when it opens one.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, session, rounds] = process.argv.slice(2);
if (!rounds) {
	console.error("usage: node bench.mjs PACKAGE-FOLDER SESSION ROUNDS");
	process.exit(2);
}

const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const pi = await import(pathToFileURL(join(folder, manifest.exports["."].import)));
const imported = performance.now();

const home = mkdtempSync(join(tmpdir(), "pemmican-bench-"));
try {
	const file = join(home, "session.jsonl");
	copyFileSync(session, file);

	const settingsManager = pi.SettingsManager.inMemory({
		compaction: { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 },
	});
	const modelRuntime = await pi.ModelRuntime.create({
		authPath: join(home, "auth.json"),
		modelsPath: join(home, "models.json"),
	});
	await modelRuntime.setRuntimeApiKey("anthropic", "no-key-is-needed");
	const [model] = await modelRuntime.getModels("anthropic");

	let prepared; // what pi's preparation was, and when it was there
	const resourceLoader = new pi.DefaultResourceLoader({
		cwd: home,
		agentDir: home,
		settingsManager,
		extensionFactories: [
			(extension) => {
				extension.on("session_before_compact", (event) => {
					prepared = { at: performance.now(), cpu: process.cpuUsage(), ...event.preparation };
					return { cancel: true };
				});
			},
		],
	});
	await resourceLoader.reload();
	const ready = performance.now();

	const steps = [];
	let text = "";
	for (let round = 0; round < Number(rounds); round++) {
		const cpu = process.cpuUsage();
		const start = performance.now();
		const sessionManager = pi.SessionManager.open(file, undefined, home);
		const loaded = performance.now();
		const loadCPU = process.cpuUsage(cpu);

		// A session that lives needs this once; it is not counted.
		const options = { cwd: home, agentDir: home, model, modelRuntime, resourceLoader, sessionManager, settingsManager };
		const { session: agent } = await pi.createAgentSession({ ...options, tools: ["read"] });
		await agent.bindExtensions({});

		prepared = undefined;
		const restCPU = process.cpuUsage();
		const asked = performance.now();
		try {
			await agent.compact();
		} catch (error) {
			if (!prepared) throw error; // anything but the cancelling
		}
		const prepareCPU = { user: prepared.cpu.user - restCPU.user, system: prepared.cpu.system - restCPU.system };

		const serialiseCPU = process.cpuUsage();
		const begun = performance.now();
		text = [prepared.messagesToSummarize, prepared.turnPrefixMessages]
			.map((messages) => pi.serializeConversation(pi.convertToLlm(messages)))
			.join("\n\n");
		const serialised = performance.now();
		const lastCPU = process.cpuUsage(serialiseCPU);
		agent.dispose();

		const micros = [loadCPU, prepareCPU, lastCPU].reduce((sum, use) => sum + use.user + use.system, 0);
		steps.push({
			load: loaded - start,
			prepare: prepared.at - asked,
			serialise: serialised - begun,
			total: loaded - start + (prepared.at - asked) + (serialised - begun),
			cpu: micros / 1000,
		});
	}
	const result = {
		version: pi.VERSION,
		node: process.version,
		imported,
		ready,
		end: performance.now(),
		tokensBefore: prepared.tokensBefore,
		messages: prepared.messagesToSummarize.length + prepared.turnPrefixMessages.length,
		characters: text.length,
		steps,
	};
	console.log(JSON.stringify(result));
} finally {
	rmSync(home, { recursive: true, force: true });
}
