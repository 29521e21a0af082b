// A module that would keep its process awake for ever.
import {LlmAgent} from 'sluice';
import {ScriptedLlm} from 'sluice/testing';

setInterval(() => {}, 1_000);

const busy: LlmAgent = new LlmAgent({name: 'busy', model: new ScriptedLlm({steps: ['Hello.']})});
// oxlint-disable-next-line import/no-default-export -- one of the two ways to export an agent
export default busy;
