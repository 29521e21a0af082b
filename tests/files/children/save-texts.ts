// Saves so many versions of one file, and says which it got. Given a size, each is that many bytes long.
import {FileArtifactService} from '../../../lib/files/file-artifact-service.ts';

const [root = '', name = '', count = '0', bytes = '0'] = process.argv.slice(2);
const service = new FileArtifactService(root);
const file = {appName: 'demo', userId: 'ada', sessionId: 's', filename: 'shared.txt'};
for (let index = 0; index < Number(count); index++) {
  const text = `${name} ${index} ${'x'.repeat(Number(bytes))}`.trim();
  const version = await service.saveArtifact({...file, artifact: {text}});
  process.stdout.write(`${JSON.stringify({version, text: text.slice(0, 40)})}\n`);
}
