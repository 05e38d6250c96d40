"""What a user of torch would write for each op and program that bench.py times, inputs by name, params at the programs'
defaults. Where torch has a function for a whole or a part of it, that is taken: it is the stronger rival."""
import math


def ops(torch):
    f = torch.nn.functional
    return {
        "softmax": lambda x: f.softmax(x, -1),
        "layernorm": lambda x, g, b: f.layer_norm(x, x.shape[-1:], g, b, 1e-5),
        "rmsnorm": lambda x, g: f.rms_norm(x, x.shape[-1:], g, 1e-5),
        "matmul": lambda a, b: a @ b,
        "relu_add": lambda x, res: f.relu(x + res),
        "bias_gelu": lambda x, b: f.gelu(x + b),
        "bias_gelu_add": lambda x, b, res: f.gelu(x + b) + res,
        "gelu": lambda x: f.gelu(x),
        "silu_mul": lambda x, res: f.silu(x) * res,
        "transpose_relu": lambda x: f.relu(x.T).contiguous(),
        "transpose_add": lambda x, res: x.T + res,
        "transpose_bias_gelu_add": lambda x, b, res: f.gelu(x.T + b) + res,
        "tanh_chain": lambda x, res, b: torch.tanh(x * res + b) * torch.sigmoid(x) + 0.5 * res,
    }


def programs(torch):
    f = torch.nn.functional

    def rmsnorm_residual(x, res, g):
        h = x + res
        return f.rms_norm(h, h.shape[-1:], g, 1e-5), h

    def residual_layernorm(x, res, g, b):
        h = x + res
        return f.layer_norm(h, h.shape[-1:], g, b, 1e-5), h

    def quantise(x):
        s = x.abs().amax(-1, keepdim=True).to(torch.promote_types(x.dtype, torch.float32)) / 127
        return (x / s).round().clamp(-128, 127).to(torch.int8), s

    def batchnorm_relu(x, mean, var, g, b):
        channels = (a.flatten() for a in (mean, var, g, b))
        return f.relu(f.batch_norm(x, *channels, False, 0.0, 1e-5))

    def adamw(p, g, m, v, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, bias1=0.1, bias2=0.001):
        p.mul_(1 - lr * weight_decay)
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        p.addcdiv_(m, v.sqrt().div_(math.sqrt(bias2)).add_(eps), value=-lr / bias1)
        return p, m, v

    def black_scholes(s, k, t, v, rate=0.02):
        d1 = (torch.log(s / k) + (rate + 0.5 * v * v) * t) / (v * torch.sqrt(t))
        d2 = d1 - v * torch.sqrt(t)
        paid, normal = k * torch.exp(-rate * t), torch.special.ndtr
        return s * normal(d1) - paid * normal(d2), paid * normal(-d2) - s * normal(-d1)

    return {
        "rmsnorm": lambda x, g: f.rms_norm(x, x.shape[-1:], g, 1e-5),
        "rmsnorm_residual": rmsnorm_residual,
        "residual_layernorm": residual_layernorm,
        "swiglu": lambda x, w1, w2: f.silu(x @ w1) * (x @ w2),
        "swiglu_gate": lambda a, b: f.silu(a) * b,
        "gelu_mlp": lambda x, w1, b1, w2, b2: torch.addmm(b2, f.gelu(torch.addmm(b1, x, w1)), w2),
        "rotary": lambda x1, x2, cos, sin: (x1 * cos - x2 * sin, x2 * cos + x1 * sin),
        "attention_softmax": lambda x, mask: f.softmax(x * 0.125 + mask, -1),
        "log_softmax": lambda x: f.log_softmax(x, -1),
        "cross_entropy": lambda x, picked: torch.logsumexp(x, -1, keepdim=True) - picked,
        "l2_normalise": lambda x: f.normalize(x, dim=-1, eps=1e-12),
        "quantise": quantise,
        "dequantise": lambda q, s: q * s,
        "batchnorm_relu": batchnorm_relu,
        "adamw": adamw,
        "black_scholes": black_scholes,
        "mean_squared_error": lambda x, y: f.mse_loss(x, y),
    }
