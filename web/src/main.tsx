import { render } from 'preact';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';
import { App } from './app';

render(<App />, document.getElementById('app') as HTMLElement);
