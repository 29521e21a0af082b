/**
 * An MCP server on stdio that leaves everything to the test: what it reads goes to a socket of the test, and what comes from there it prints.
 * A line that begins with `!` is an order: `!exit 3`, `!stderr text`, `!at once [lines]`. With `stubborn` neither the end of its input nor SIGTERM ends it.
 */
import {connect} from 'node:net';
import {createInterface} from 'node:readline';

const [port, ...flags] = process.argv.slice(2);
const socket = connect(Number(port), '127.0.0.1');
socket.write(`${JSON.stringify({env: process.env})}\n`);
process.stdin.pipe(socket, {end: false});
process.stdin.on('end', () => {
  socket.write('{"method":"end of input"}\n');
  if (!flags.includes('stubborn')) socket.end(() => process.exit());
});
process.on('SIGTERM', () => {
  socket.write('{"method":"SIGTERM"}\n');
  if (!flags.includes('stubborn')) socket.end(() => process.exit());
});
createInterface({input: socket}).on('line', (line) => {
  if (line.startsWith('!exit ')) process.exit(Number(line.slice('!exit '.length)));
  if (line.startsWith('!stderr ')) process.stderr.write(`${line.slice('!stderr '.length)}\n`);
  else if (line.startsWith('!at once ')) process.stdout.write((JSON.parse(line.slice('!at once '.length)) as string[]).join(''));
  else process.stdout.write(`${line}\n`);
});
socket.on('error', () => process.exit(1));
