import Theme from 'vitepress/theme';
import './style.css';

// oxlint-disable-next-line import/no-default-export -- VitePress asks for it
export default Theme;
