export {sessionServiceSuite, type SessionServiceCase} from './session-service-suite.ts';
