export { createDemo, logFirstSteps, welcome } from './demo.js';
