// SPDX-License-Identifier: Apache-2.0
//
// browser.js - a headless Chromium, driven by its debugging protocol; for tests that look at pages
//
//	const {withPage} = require('./browser.js');
//	await withPage(browserName, async (page) => { await page.open(url); ... });
//
// No packages and no network are needed.
'use strict';
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const {spawn} = require('child_process');

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The address of the browser's debugging protocol, as it prints it.
function startBrowser(browserName, profile)
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

// A WebSocket client as far as this protocol needs one: node 20 has none. `tell` gets what the
// browser says by itself.
function connect(address, tell)
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
				else if (message.method)
					tell(message.method, message.params);
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

class Page {
	constructor(call, sessionId, said)
	{
		this.call = (method, params) => call(method, params, sessionId);
		this.said = said;	// errors on the console, exceptions, requests that failed
		this.requests = said.requests;
	}

	async open(url)
	{
		await this.call('Page.navigate', {url});
	}

	// Of an expression's value, a promise's result; an exception there is one here.
	async evaluate(expression)
	{
		const {result, exceptionDetails} = await this.call('Runtime.evaluate',
			{expression, returnByValue: true, awaitPromise: true});

		if (exceptionDetails)
			throw new Error(`${expression.slice(0, 200)}: ${(exceptionDetails.exception || {}).description ||
				exceptionDetails.text}`);
		return result.value;
	}

	// Until the expression is true; false: it never was.
	async until(expression, seconds = 60)
	{
		for (let i = 0; i < seconds * 20; i++) {
			if (await this.evaluate(expression).catch(() => false))
				return true;
			await wait(50);
		}
		return false;
	}

	async size(width, height, isMobile = false)
	{
		await this.call('Emulation.setDeviceMetricsOverride',
			{width, height, deviceScaleFactor: 1, mobile: isMobile});
	}

	async key(key, code = key)
	{
		const text = key.length === 1 ? key : undefined;

		await this.call('Input.dispatchKeyEvent', {type: text ? 'keyDown' : 'rawKeyDown', key, code, text,
			windowsVirtualKeyCode: {Tab: 9, Enter: 13, Escape: 27, End: 35, Home: 36, ArrowLeft: 37,
				ArrowUp: 38, ArrowRight: 39, ArrowDown: 40}[key] || key.charCodeAt(0)});
		await this.call('Input.dispatchKeyEvent', {type: 'keyUp', key, code});
	}

	async drag(fromX, fromY, toX, toY)
	{
		const mouse = (type, x, y) => this.call('Input.dispatchMouseEvent',
			{type, x, y, button: 'left', buttons: 1, clickCount: 1});

		await mouse('mousePressed', fromX, fromY);
		for (let i = 1; i <= 8; i++)
			await mouse('mouseMoved', fromX + (toX - fromX) * i / 8, fromY + (toY - fromY) * i / 8);
		await mouse('mouseReleased', toX, toY);
	}

	async screenshot(png, isWhole = false)
	{
		const {data} = await this.call('Page.captureScreenshot',
			{format: 'png', captureBeyondViewport: isWhole});

		fs.writeFileSync(png, Buffer.from(data, 'base64'));
	}

	async paper(pdf)
	{
		const {data} = await this.call('Page.printToPDF', {printBackground: true});

		fs.writeFileSync(pdf, Buffer.from(data, 'base64'));
	}
}

async function withPage(browserName, use)
{
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'trainprof-browser-'));
	const [browser, address] = await startBrowser(browserName, profile);
	const said = Object.assign([], {requests: []});

	try {
		const call = await connect(address, (method, params) => {
			if (method === 'Runtime.exceptionThrown')
				said.push(params.exceptionDetails.exception
					? params.exceptionDetails.exception.description : params.exceptionDetails.text);
			else if (method === 'Runtime.consoleAPICalled' && /error|warning/.test(params.type))
				said.push(params.args.map((arg) => arg.value || arg.description).join(' '));
			else if (method === 'Log.entryAdded' && params.entry.level === 'error')
				said.push(`${params.entry.text} ${params.entry.url || ''}`);
			else if (method === 'Network.requestWillBeSent')
				said.requests.push(params.request.url.slice(0, 200));
		});
		const {targetId} = await call('Target.createTarget', {url: 'about:blank'});
		const {sessionId} = await call('Target.attachToTarget', {targetId, flatten: true});

		for (const domain of ['Runtime', 'Log', 'Network', 'Page'])
			await call(`${domain}.enable`, {}, sessionId);
		return await use(new Page(call, sessionId, said));
	} finally {
		browser.removeAllListeners('exit');
		browser.kill();
		await wait(500);
		fs.rmSync(profile, {recursive: true, force: true, maxRetries: 5});
	}
}

module.exports = {wait, withPage};
