"""A large small net teaches a smaller one (knowledge distillation), pictures of 3x32x32."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def features(*widths):
    layers = []
    for ins, outs, pool in widths:
        layers += [nn.Conv2d(ins, outs, 3, padding=1), nn.ReLU(), *([nn.MaxPool2d(2, 2)] * pool)]
    return nn.Sequential(*layers, nn.Flatten())


teacher = nn.Sequential(features((3, 128, 0), (128, 64, 1), (64, 64, 0), (64, 32, 1)),
                        nn.Linear(2048, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 10))
student = nn.Sequential(features((3, 16, 1), (16, 16, 1)), nn.Linear(1024, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10))
data = [(torch.randn(128, 3, 32, 32), torch.randint(0, 10, (128,))) for _ in range(3)]
trainer = torch.optim.Adam(teacher.parameters(), lr=0.001)
for pictures, labels in data:
    trainer.zero_grad()
    loss = F.cross_entropy(teacher(pictures), labels)
    loss.backward()
    trainer.step()
print(f"teacher {loss.item():.3f}")
teacher.eval()
trainer = torch.optim.Adam(student.parameters(), lr=0.001)
for pictures, labels in data:
    trainer.zero_grad()
    with torch.no_grad():
        words = teacher(pictures)
    answer = student(pictures)
    soft = F.softmax(words / 2, -1)
    distance = torch.sum(soft * (soft.log() - F.log_softmax(answer / 2, -1))) / soft.size(0) * 4
    loss = 0.25 * distance + 0.75 * F.cross_entropy(answer, labels)
    loss.backward()
    trainer.step()
print(f"student {loss.item():.3f}")
