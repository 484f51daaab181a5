export { createDemo, demoIsSent, logFirstSteps, welcome } from './demo.js';
